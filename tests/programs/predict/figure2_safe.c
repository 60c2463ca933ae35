// As figure 2, but only the last value opens the branch: the write of s2.f is behind it.
#include "program.h"
struct s { _Atomic int f; int g; };
static struct s s1;
static int guarded;
static void *first(void *unused) {
  atomic_store(&s1.f, 3);
  guarded = 1; // NORACE
  atomic_store(&s1.f, 20);
  return unused;
}
static void *second(void *unused) {
  late();
  int y = atomic_load(&s1.f);
  int x = y + 10;
  if (x > 25)
    guarded = x; // NORACE
  return unused;
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
