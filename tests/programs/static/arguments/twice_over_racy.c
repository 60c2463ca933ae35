// The loop runs twice: two threads get each slot.
#include <pthread.h>
#define N 4
int slots[N];
void *worker(void *p) {
  *(int *)p = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t[N];
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < N; i++) pthread_create(&t[i], 0, worker, &slots[i]);
  return 0;
}
