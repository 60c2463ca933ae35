#include <pthread.h>
int x;
pthread_t t;
void *worker(void *unused) {
  x = 1; // NORACE
  return 0;
}
static void start(void) { pthread_create(&t, 0, worker, 0); }
static void stop(void) { pthread_join(t, 0); }
int main(void) {
  x = 0; // NORACE
  start();
  stop();
  return x; // NORACE
}
