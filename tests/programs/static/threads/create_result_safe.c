// When creation fails there is no other thread.
#include <pthread.h>
int x;
void *worker(void *unused) {
  x = 1; // NORACE
  return 0;
}
int main(void) {
  pthread_t t;
  if (pthread_create(&t, 0, worker, 0) != 0) return 1;
  pthread_join(t, 0);
  x = 2; // NORACE
  return 0;
}
