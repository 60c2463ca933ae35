#include <pthread.h>
#define N 4
int in[N], out[N];
pthread_barrier_t b;
void *worker(void *arg) {
  int i = (int)(long)arg;
  in[i] = i * i; // NORACE
  pthread_barrier_wait(&b);
  for (int k = 0; k < N; k++) out[i] += in[k]; // RACE!
  in[i] = 0; // RACE!
  return 0;
}
int main(void) {
  pthread_t t[N];
  pthread_barrier_init(&b, 0, N);
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return out[0]; // NORACE
}
