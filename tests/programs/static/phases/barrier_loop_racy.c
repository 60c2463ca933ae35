#include <pthread.h>
#define N 2
int x;
pthread_barrier_t b;
void *worker(void *arg) {
  for (int round = 0; round < 3; round++) {
    if (arg) x = round; // RACE!
    pthread_barrier_wait(&b);
    if (!arg) x = -round; // RACE!
  }
  return 0;
}
int main(void) {
  pthread_t t[N];
  pthread_barrier_init(&b, 0, N);
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return 0;
}
