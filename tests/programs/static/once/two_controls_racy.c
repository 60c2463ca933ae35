#include <pthread.h>
int config;
pthread_once_t once = PTHREAD_ONCE_INIT, other = PTHREAD_ONCE_INIT;
static void init(void) {
  config++; // RACE!
}
void *worker(void *unused) {
  pthread_once(&once, init);
  return 0;
}
void *second(void *unused) {
  pthread_once(&other, init);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, second, 0);
  return 0;
}
