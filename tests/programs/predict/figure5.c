// Figure 5 (bounded buffer): the check reads what the halt writes, but its outcome does not need it.
#include "program.h"
static int halted, count = 1;
static int items[4];
static void *closer(void *unused) {
  count = 2; // RACE!
  return unused;
}
static void *taker(void *unused) {
  late();
  if (count > 0)          // RACE!
    items[0] = count - 1; // RACE!
  return unused;
}
int main(void) {
  pthread_t a, b;
  prepare();
  pthread_create(&a, 0, lead, (void *)closer);
  pthread_create(&b, 0, taker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return halted;
}
