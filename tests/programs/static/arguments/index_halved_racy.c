#include <pthread.h>
#define N 4
int counts[N];
void *worker(void *p) {
  long me = (long)p / 2;
  counts[me]++; // RACE!
  return 0;
}
int main(void) {
  pthread_t t[N];
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, (void *)i);
  return 0;
}
