// The innermost of three allocating functions keeps the pointer, and another thread uses it.
#include <pthread.h>
#include <stdlib.h>
int *last;
static void *inner(size_t size) {
  int *p = malloc(size);
  if (!p) abort();
  last = p;
  return p;
}
static void *middle(size_t size) { return inner(size + sizeof(int)); }
static int *outer(void) {
  int *p = middle(sizeof *p);
  *p = 0;
  return p;
}
int *mine;
void *up(void *unused) {
  (*mine)++; // RACE!
  return 0;
}
void *down(void *unused) {
  (*last)--; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  mine = outer();
  pthread_create(&t, 0, up, 0);
  pthread_create(&u, 0, down, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
