#include <pthread.h>
int x;
pthread_barrier_t b;
extern int __VERIFIER_nondet_int(void);
void *one(void *arg) {
  x = 1; // RACE!
  pthread_barrier_wait(&b);
  return 0;
}
void *two(void *arg) {
  if (__VERIFIER_nondet_int()) pthread_barrier_wait(&b);
  return (void *)(long)x; // RACE!
}
int main(void) {
  pthread_t s, t;
  pthread_barrier_init(&b, 0, 2);
  pthread_create(&s, 0, one, 0);
  pthread_create(&t, 0, two, 0);
  pthread_join(t, 0);
  return 0;
}
