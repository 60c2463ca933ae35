#include <pthread.h>
extern int __VERIFIER_nondet_int(void);
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int busy, data;
void enter(void) {
  pthread_mutex_lock(&m);
  while (busy) pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
  pthread_mutex_lock(&m);
  busy = 1;
  pthread_mutex_unlock(&m);
}
void leave(void) {
  pthread_mutex_lock(&m);
  busy = 0;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
}
void *worker(void *arg) {
  enter();
  data++; // RACE!
  leave();
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
