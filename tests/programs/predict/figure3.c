// Figure 3: the base object of line 7 depends on which write of y is read, so it must stay o2;
// the accesses of o2.f are ordered through y and the atomic hand-over.
#include "program.h"
struct o { int f; };
static struct o o1, o2;
static struct o *_Atomic y = &o1;
static void *first(void *unused) {
  o2.f = 5; // NORACE
  atomic_store(&y, &o2);
  return unused;
}
static void *second(void *unused) {
  late();
  struct o *z = atomic_load(&y);
  int w = z->f; // NORACE
  return (void *)(long)w;
}
int main(void) {
  pthread_t a, b;
  prepare();
  pthread_create(&a, 0, lead, (void *)first);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
