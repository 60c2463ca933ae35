#include <pthread.h>
int x;
pthread_barrier_t b;
void *one(void *arg) {
  pthread_barrier_wait(&b);
  x = 1; // RACE!
  return 0;
}
void *two(void *arg) {
  pthread_barrier_wait(&b);
  return (void *)(long)x; // RACE!
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
