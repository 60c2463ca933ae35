// pingpong: one thread drops the ball while the other plays it.
#include "program.h"
struct ball { int hits; };
static struct ball one, *ball = &one;
static void *player(void *unused) {
  struct ball *mine = ball;
  if (mine)
    mine->hits++;
  return unused;
}
static void *dropper(void *unused) {
  late();
  ball = NULL;
  return unused;
}
int main(void) {
  both(player, dropper);
  return 0;
}
