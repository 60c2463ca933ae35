#include <pthread.h>
#include <stdatomic.h>
int part[64];
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
int next;
void *worker(void *arg) {
  pthread_mutex_t *own_lock = arg ? &m : &n;
  pthread_mutex_lock(own_lock);
  int own = next; // RACE!
  next++; // RACE!
  pthread_mutex_unlock(own_lock);
  part[own] = own; // RACE!
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, (void *)(i & 1));
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  return part[3];
}
