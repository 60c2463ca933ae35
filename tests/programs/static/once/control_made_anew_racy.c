#include <pthread.h>
pthread_once_t control = PTHREAD_ONCE_INIT;
int x;
void start(void) { x++; }
void *worker(void *arg) {
  pthread_once(&control, start); // RACE!
  return 0;
}
int main(void) {
  pthread_once_t fresh = PTHREAD_ONCE_INIT;
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  control = fresh; // RACE!
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return x;
}
