extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int data;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *arg) {
  pthread_mutex_lock(&m);
  data++; // NORACE
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t ids[10];
  int i = 0;
  while (i < 10) {
    if (pthread_create(&ids[i], 0, worker, 0) != 0) abort();
    i++;
  }
  for (i = 0; i < 10; ++i) pthread_join(ids[i], 0);
  return data; // NORACE
}
