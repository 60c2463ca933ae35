// Both pointers are to what one call has allocated.
#include <pthread.h>
#include <stdlib.h>
static int *number(void) {
  int *p = malloc(sizeof *p);
  if (!p) abort();
  *p = 0;
  return p;
}
int *a, *b;
void *up(void *unused) {
  (*a)++; // RACE!
  return 0;
}
void *down(void *unused) {
  (*b)--; // RACE!
  return 0;
}
int main(int argc, char **argv) {
  pthread_t t, u;
  a = number();
  b = argc > 1 ? a : number();
  pthread_create(&t, 0, up, 0);
  pthread_create(&u, 0, down, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
