// A thread may still run when the program ends.
#include <pthread.h>
#include <stdlib.h>
int x;
void last(void) { x = 2; } // RACE!
void *work(void *_) {
  x = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  atexit(last);
  pthread_create(&t, 0, work, 0);
  return 0;
}
