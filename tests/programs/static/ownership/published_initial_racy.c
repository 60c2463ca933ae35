// Known from the start.
#include <pthread.h>
#include <stdatomic.h>
struct object { int value; };
struct object one, two;
struct object *_Atomic current = &two;
atomic_int unused;
void *first(void *_) {
  two.value = 5; // RACE!
  current = &two;
  return 0;
}
void *second(void *_) {
  struct object *seen = current;
  seen->value = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
