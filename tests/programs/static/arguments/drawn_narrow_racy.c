#include <pthread.h>
#include <stdatomic.h>
int part[64];
int most[256];
atomic_uchar next;
void *worker(void *arg) {
  for (int i = 0; i < 200; i++) {
    int own = atomic_fetch_add(&next, 1);
    most[own] = i; // RACE!
  }
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  return part[3];
}
