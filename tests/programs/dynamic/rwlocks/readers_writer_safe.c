// Readers share the lock, the writer has it alone.
#include "../program.h"
int value;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
void *reader(void *_) {
  for (int i = 0; i < 50; i++) {
    pthread_rwlock_rdlock(&lock);
    use(value); // NORACE
    pthread_rwlock_unlock(&lock);
  }
  return 0;
}
void *writer(void *_) {
  for (int i = 0; i < 50; i++) {
    pthread_rwlock_wrlock(&lock);
    value++; // NORACE
    pthread_rwlock_unlock(&lock);
  }
  return 0;
}
int main(void) {
  pthread_t extra = start(reader, NULL);
  both(reader, writer);
  join(extra);
}
