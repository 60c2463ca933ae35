extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
pthread_mutex_t locks[4];
int n[4], shared;
void *worker(void *arg) {
  int i = (int)(long)arg;
  pthread_mutex_lock(&locks[i]);
  n[i]++;   // NORACE
  shared++; // RACE!
  pthread_mutex_unlock(&locks[i]);
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_mutex_init(&locks[i], 0);
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  return 0;
}
