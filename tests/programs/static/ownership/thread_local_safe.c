#include <pthread.h>
static _Thread_local int count;
void *worker(void *unused) {
  count++; // NORACE
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  count++; // NORACE
  return 0;
}
