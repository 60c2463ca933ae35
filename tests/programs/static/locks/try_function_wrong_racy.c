#include <pthread.h>
#include <stdbool.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;
static bool enter(void) { return pthread_mutex_trylock(&m); }
static void leave(void) { pthread_mutex_unlock(&m); }
void *worker(void *arg) {
  if (enter()) {
    x++; // RACE!
    leave();
  }
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return x;
}
