#include <pthread.h>
#include <stdatomic.h>
int part[64];
atomic_int next;
void *worker(void *arg) {
  int own = atomic_load(&next);
  atomic_fetch_add(&next, 1);
  part[own] = own; // RACE!
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  return part[3];
}
