// Each thread locks what its argument says, and the arguments differ.
#include <pthread.h>
int x;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
struct arg { pthread_mutex_t *lock; };
struct arg args[2] = {{&a}, {&b}};
void *worker(void *p) {
  struct arg *arg = p;
  pthread_mutex_lock(arg->lock);
  x++; // RACE!
  pthread_mutex_unlock(arg->lock);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, &args[0]);
  pthread_create(&u, 0, worker, &args[1]);
  return 0;
}
