// Each thread has a text of its own.
#include <pthread.h>
#include <stdlib.h>
void *cut(void *arg) {
  char text[] = "12 34", *end;
  strtol(text, &end, 10);
  *end = 0; // NORACE
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, cut, 0);
  pthread_create(&b, 0, cut, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
