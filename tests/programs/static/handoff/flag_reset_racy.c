#include <pthread.h>
#include <stdatomic.h>
int data;
atomic_int turn;
void *ping(void *arg) {
  for (int i = 0; i < 3; i++) {
    while (turn != 0) ; // NORACE
    data = i;           // RACE!
    turn = 1;           // NORACE
  }
  return 0;
}
void *pong(void *arg) {
  while (turn != 1) ; // NORACE
  data = -1;
  turn = 0;           // NORACE
  data = -2;          // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, ping, 0);
  pthread_create(&b, 0, pong, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
