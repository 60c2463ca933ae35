#include <pthread.h>
#define N 4
int counts[N];
void *worker(void *p) {
  int me = (int)(long)p;
  for (int i = 0; i < 100; i++) counts[me]++; // NORACE
  return 0;
}
int main(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++) pthread_create(&t[i], 0, worker, (void *)(long)i);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return counts[1]; // NORACE
}
