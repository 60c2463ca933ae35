// The handle itself is written by the create call while another thread reads it.
#include <pthread.h>
pthread_t first;
void *one(void *unused) { return 0; }
void *two(void *unused) {
  pthread_join(first, 0); // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, two, 0);
  pthread_create(&first, 0, one, 0); // RACE!
  return 0;
}
