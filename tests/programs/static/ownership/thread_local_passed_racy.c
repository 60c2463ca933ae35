// The address of a thread's own variable given to another thread.
#include <pthread.h>
static __thread int count;
void *worker(void *p) {
  *(int *)p = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, &count);
  count++; // RACE!
  return 0;
}
