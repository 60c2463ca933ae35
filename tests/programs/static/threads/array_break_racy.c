// The loop may end early.
#include <pthread.h>
#define N 8
int x;
extern int __VERIFIER_nondet_int(void);
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  pthread_mutex_lock(&m);
  x++; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < N; i++) {
    pthread_join(t[i], 0);
    if (__VERIFIER_nondet_int()) break;
  }
  return x; // RACE!
}
