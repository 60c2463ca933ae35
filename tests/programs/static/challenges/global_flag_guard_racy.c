// Mutual exclusion by a plain flag is none.
#include <pthread.h>
int turn, x;
void *worker(void *unused) {
  while (turn != 1) // RACE!
    ;
  x++; // RACE!
  turn = 0; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  while (turn != 0) // RACE!
    ;
  x++; // RACE!
  turn = 1; // RACE!
  return 0;
}
