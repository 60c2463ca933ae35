// A thread gives a local of its own to another thread of the same function.
#include <pthread.h>
void *worker(void *p) {
  int mine = 0;
  pthread_t t;
  if (p) *(int *)p = 1; // RACE!
  pthread_create(&t, 0, worker, &mine);
  mine = 2; // RACE!
  pthread_join(t, 0);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  return 0;
}
