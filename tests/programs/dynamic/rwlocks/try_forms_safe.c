// tryrdlock and trywrlock, heeded.
#include "../program.h"
int value;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
void *reader(void *_) {
  for (int i = 0; i < 100; i++)
    if (pthread_rwlock_tryrdlock(&lock) == 0) {
      use(value); // NORACE
      pthread_rwlock_unlock(&lock);
    }
  return 0;
}
void *writer(void *_) {
  for (int i = 0; i < 100; i++)
    if (pthread_rwlock_trywrlock(&lock) == 0) {
      value++; // NORACE
      pthread_rwlock_unlock(&lock);
    }
  return 0;
}
int main(void) { both(reader, writer); }
