// critical: two threads take turns by a flag that nothing protects.
#include "program.h"
static int turn, count;
static void enter(int me) {
  for (int round = 0; round < 50 && turn != me; round++)
    usleep(10);
}
static void *first(void *unused) {
  enter(0);
  count = count + 1;
  turn = 1;
  return unused;
}
static void *second(void *unused) {
  late();
  enter(1);
  count = count + 1;
  turn = 0;
  return unused;
}
int main(void) {
  both(first, second);
  printf("%d\n", count);
  return 0;
}
