// The thread works on a local of its creator.
#include <pthread.h>
void *worker(void *p) {
  *(int *)p = 1; // RACE!
  return 0;
}
int main(void) {
  int x = 0;
  pthread_t t;
  pthread_create(&t, 0, worker, &x);
  x = 2; // RACE!
  pthread_join(t, 0);
  return x; // NORACE
}
