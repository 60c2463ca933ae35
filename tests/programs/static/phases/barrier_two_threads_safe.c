#include <pthread.h>
int x;
pthread_barrier_t b;
void *one(void *arg) {
  x = 1; // NORACE
  pthread_barrier_wait(&b);
  return 0;
}
void *two(void *arg) {
  pthread_barrier_wait(&b);
  return (void *)(long)x; // NORACE
}
int main(void) {
  pthread_t s, t;
  pthread_barrier_init(&b, 0, 2);
  pthread_create(&s, 0, one, 0);
  pthread_create(&t, 0, two, 0);
  pthread_join(s, 0);
  pthread_join(t, 0);
  return 0;
}
