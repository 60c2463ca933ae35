// volatile is no synchronisation.
#include <pthread.h>
volatile int x;
void *worker(void *unused) {
  x = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  while (!x) // RACE!
    ;
  return 0;
}
