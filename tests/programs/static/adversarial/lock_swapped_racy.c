// Same structure, but the lock's slot is swapped between two rounds.
#include <pthread.h>
struct s { pthread_mutex_t *lock; int data; };
struct s shared;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  pthread_mutex_lock(shared.lock); // RACE!
  shared.data++; // RACE!
  pthread_mutex_unlock(shared.lock); // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  shared.lock = &a;
  pthread_create(&t, 0, worker, 0);
  shared.lock = &b; // RACE!
  pthread_create(&u, 0, worker, 0);
  return 0;
}
