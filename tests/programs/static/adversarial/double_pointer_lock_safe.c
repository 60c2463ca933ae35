#include <pthread.h>
int x;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
struct arg { pthread_mutex_t *lock; };
struct arg args[2];
void *worker(void *p) {
  struct arg *arg = p;
  pthread_mutex_lock(arg->lock);
  x++; // NORACE
  pthread_mutex_unlock(arg->lock);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) {
    args[i].lock = &a; // NORACE
    pthread_create(&t[i], 0, worker, &args[i]);
  }
  return 0;
}
