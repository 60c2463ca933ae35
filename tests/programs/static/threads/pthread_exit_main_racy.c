#include <pthread.h>
int x;
void *worker(void *unused) {
  x = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  x = 2; // RACE!
  pthread_exit(0);
}
