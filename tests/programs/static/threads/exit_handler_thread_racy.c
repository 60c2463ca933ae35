// Another thread ends the program.
#include <pthread.h>
#include <stdlib.h>
int x;
void last(void) { x = 2; } // RACE!
void *work(void *_) {
  x = 1; // RACE!
  return 0;
}
void *ender(void *_) { exit(0); }
int main(void) {
  pthread_t t, u;
  atexit(last);
  pthread_create(&t, 0, work, 0);
  pthread_create(&u, 0, ender, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
