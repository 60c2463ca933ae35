#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;
static void leave(pthread_mutex_t **held) { pthread_mutex_unlock(*held); }
void *worker(void *arg) {
  {
    pthread_mutex_lock(&m);
    __attribute__((cleanup(leave))) pthread_mutex_t *held = &m;
    x++; // RACE!
  }
  x++; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
