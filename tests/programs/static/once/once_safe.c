#include <pthread.h>
int config;
pthread_once_t once = PTHREAD_ONCE_INIT;
static void init(void) {
  config = 42; // NORACE
}
void *worker(void *unused) {
  pthread_once(&once, init);
  return (void *)(long)config; // NORACE
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
