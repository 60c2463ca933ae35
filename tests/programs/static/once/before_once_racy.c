#include <pthread.h>
int config;
pthread_once_t once = PTHREAD_ONCE_INIT;
static void init(void) {
  config = 42; // RACE!
}
void *worker(void *unused) {
  int early = config; // RACE!
  pthread_once(&once, init);
  return (void *)(long)early;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
