extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int data;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *arg) {
  pthread_mutex_lock(&m);
  data++; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t ids[10];
  for (int i = 0; i < 10; i++) pthread_create(&ids[i], 0, worker, 0);
  for (int i = 1; i < 10; i++) pthread_join(ids[i], 0);
  return data; // RACE!
}
