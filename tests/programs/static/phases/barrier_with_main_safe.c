#include <pthread.h>
int x;
pthread_barrier_t b;
void *worker(void *arg) {
  pthread_barrier_wait(&b);
  int seen = x; // NORACE
  pthread_barrier_wait(&b);
  x = seen + 1; // NORACE
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_barrier_init(&b, 0, 2);
  pthread_create(&t, 0, worker, 0);
  x = 1; // NORACE
  pthread_barrier_wait(&b);
  pthread_barrier_wait(&b);
  pthread_join(t, 0);
  return x; // NORACE
}
