// POSIX spin locks.
#include "../program.h"
int value;
pthread_spinlock_t lock;
void *work(void *_) {
  pthread_spin_lock(&lock);
  value++; // NORACE
  pthread_spin_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  both(work, work);
  pthread_spin_destroy(&lock);
}
