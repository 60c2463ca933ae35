#include <pthread.h>
int x;
void *worker(void *unused) {
  x = 1; // NORACE
  return 0;
}
int main(void) {
  pthread_t t;
  x = 0; // NORACE
  pthread_create(&t, 0, worker, 0);
  pthread_join(t, 0);
  return x; // NORACE
}
