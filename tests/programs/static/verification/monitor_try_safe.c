#include <pthread.h>
extern int __VERIFIER_nondet_int(void);
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int busy, data;
void *worker(void *arg) {
  pthread_mutex_lock(&m);
  if (busy) {
    pthread_mutex_unlock(&m);
    return 0;
  }
  busy = 1;
  pthread_mutex_unlock(&m);
  data++; // NORACE
  pthread_mutex_lock(&m);
  busy = 0;
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data;
}
