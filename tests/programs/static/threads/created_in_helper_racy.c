#include <pthread.h>
int x;
pthread_t t;
void *worker(void *unused) {
  x = 1; // RACE!
  return 0;
}
static void start(void) { pthread_create(&t, 0, worker, 0); }
int main(void) {
  start();
  x = 2; // RACE!
  pthread_join(t, 0);
  return x; // NORACE
}
