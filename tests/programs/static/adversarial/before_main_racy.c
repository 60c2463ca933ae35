#include <pthread.h>
int x;
pthread_t t;
void *worker(void *arg) {
  x++; // RACE!
  return 0;
}
__attribute__((constructor)) void before(void) { pthread_create(&t, 0, worker, 0); }
int main(void) {
  x++; // RACE!
  pthread_join(t, 0);
  return x;
}
