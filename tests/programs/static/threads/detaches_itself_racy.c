// The thread has detached itself by the time that it is joined.
#include <pthread.h>
int x;
void *work(void *argument) {
  pthread_detach(pthread_self());
  x = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  pthread_join(t, 0);
  x = 2; // RACE!
  pthread_exit(0);
}
