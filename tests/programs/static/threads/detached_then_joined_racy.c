// Joining after detaching does not wait.
#include <pthread.h>
int x;
void *work(void *argument) {
  x = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  pthread_detach(t);
  pthread_join(t, 0);
  x = 2; // RACE!
  pthread_exit(0);
}
