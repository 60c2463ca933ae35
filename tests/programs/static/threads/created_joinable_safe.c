// The attribute says what would be so without it.
#include <pthread.h>
int x;
void *work(void *argument) {
  x = 1; // NORACE
  return 0;
}
int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_JOINABLE);
  pthread_t t;
  pthread_create(&t, &attributes, work, 0);
  pthread_join(t, 0);
  x = 2; // NORACE
  pthread_exit(0);
}
