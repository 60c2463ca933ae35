// The child ends by pthread_exit and leaves a thread behind.
#include <pthread.h>
int x;
extern int __VERIFIER_nondet_int(void);
void *grandchild(void *unused) {
  x = 1; // RACE!
  return 0;
}
static void maybe_leave(void) {
  if (__VERIFIER_nondet_int()) pthread_exit(0);
}
void *child(void *unused) {
  pthread_t t;
  pthread_create(&t, 0, grandchild, 0);
  maybe_leave();
  pthread_join(t, 0);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, child, 0);
  pthread_join(t, 0);
  return x; // RACE!
}
