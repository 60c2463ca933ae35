#include <pthread.h>
#include <stddef.h>
struct outer { int value; struct { int dummy; } link; };
struct outer shared;
void *worker(void *p) {
  struct outer *o = (struct outer *)((char *)p - offsetof(struct outer, link));
  o->value = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, &shared.link);
  shared.value = 2; // RACE!
  return 0;
}
