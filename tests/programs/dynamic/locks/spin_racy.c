// One thread takes the spin lock, the other a mutex.
#include "../program.h"
int value;
pthread_spinlock_t spin;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
void *first(void *_) {
  pthread_spin_lock(&spin);
  value++; // RACE!
  pthread_spin_unlock(&spin);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  pthread_mutex_lock(&mutex);
  value++; // RACE!
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  both(first, second);
}
