#include <pthread.h>
struct job { pthread_mutex_t lock; int result; };
void *worker(void *p) {
  struct job *j = p;
  pthread_mutex_lock(&j->lock);
  j->result = 1; // NORACE
  pthread_mutex_unlock(&j->lock);
  return 0;
}
int main(void) {
  struct job j = {PTHREAD_MUTEX_INITIALIZER, 0};
  pthread_t t;
  pthread_create(&t, 0, worker, &j);
  pthread_mutex_lock(&j.lock);
  j.result = 2; // NORACE
  pthread_mutex_unlock(&j.lock);
  pthread_join(t, 0);
  return j.result; // NORACE
}
