// A thread that was created detached cannot be waited for: joining it comes back at once.
#include <pthread.h>
int x;
void *work(void *argument) {
  x = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t t;
  pthread_create(&t, &attributes, work, 0);
  pthread_join(t, 0);
  x = 2; // RACE!
  pthread_exit(0);
}
