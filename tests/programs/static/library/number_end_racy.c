// Where the number ends is told by a pointer into the text.
#include <pthread.h>
#include <stdlib.h>
char text[] = "12 34";
void *cut(void *arg) {
  char *end;
  strtol(text, &end, 10);
  *end = 0; // RACE!
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
