// Each thread also writes to its neighbour's slot.
#include <pthread.h>
#define N 4
int slots[N + 1];
void *worker(void *p) {
  int *mine = p;
  mine[0] = 1; // RACE!
  mine[1] = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++) pthread_create(&t[i], 0, worker, &slots[i]);
  return 0;
}
