// One thread joins the other before it goes on.
#include <pthread.h>
int x;
pthread_t first;
void *one(void *unused) {
  x = 1; // NORACE
  return 0;
}
void *two(void *unused) {
  pthread_join(first, 0);
  x = 2; // NORACE
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&first, 0, one, 0);
  pthread_create(&t, 0, two, 0);
  return 0;
}
