// Paper 2, Figure 1: after goo, q is g4 for certain, p may be g3 or g5.
#include <pthread.h>
pthread_mutex_t g1, g2, g3, g4, g5;
pthread_mutex_t *p, *q;
int global_var, u, under_p, under_q;
extern int __VERIFIER_nondet_int(void);
static void goo(void) {
  p = &g3;
  q = &g4;
  if (global_var) p = &g5;
  u = 1;
}
static void bar(void) { goo(); }
static void foo(void) {
  p = &g1;
  q = &g2;
  bar();
}
void *worker(void *unused) {
  pthread_mutex_lock(q);
  under_q++; // NORACE
  pthread_mutex_unlock(q);
  pthread_mutex_lock(p);
  under_p++; // NORACE
  pthread_mutex_unlock(p);
  return 0;
}
int main(void) {
  pthread_t t, v;
  global_var = __VERIFIER_nondet_int();
  foo();
  pthread_create(&t, 0, worker, 0);
  pthread_create(&v, 0, worker, 0);
  return 0;
}
