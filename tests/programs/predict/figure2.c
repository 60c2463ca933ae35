// Figure 2: the read of s1.f may see 3 or 2; both keep the branch, so the writes of s2.f race.
#include "program.h"
struct s { int f; };
static struct s *s1, *s2;
static void *first(void *unused) {
  s1->f = 3; // RACE!
  s2->f = 1; // RACE!
  s1->f = 2; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  struct s w;
  w.f = 10;
  int z = w.f;
  int y = s1->f; // RACE!
  int x = y + z;
  if (x > 11)
    s2->f = x; // RACE!
  return unused;
}
int main(void) {
  s1 = calloc(1, sizeof *s1);
  s2 = calloc(1, sizeof *s2);
  pthread_t a, b;
  prepare();
  pthread_create(&a, 0, lead, (void *)first);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
