// As figure 2, but only the last value opens the branch: the write of s2.f is behind it.
#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <unistd.h>
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
  usleep(30000);
  int y = atomic_load(&s1.f);
  int x = y + 10;
  if (x > 25)
    guarded = x; // NORACE
  return unused;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
