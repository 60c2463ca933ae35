// At one leaf of a recursion of two functions, whose paths are all different, something shared is
// written; every leaf itself belongs to one thread alone.
#include "../program.h"
enum { DEPTH = 14 };
struct leaf {
  int value[3];
} leaves[1 << DEPTH];
int shared;
static void odd(int depth, int place, int mine);
static void even(int depth, int place, int mine) {
  if (depth == DEPTH) {
    if (place % 2 == mine) {
      leaves[place].value[0] = leaves[place].value[1] + leaves[place].value[2]; // NORACE
    }
    if (place == 4711) {
      shared++; // RACE!
    }
    return;
  }
  odd(depth + 1, 2 * place, mine);
  odd(depth + 1, 2 * place + 1, mine);
}
static void odd(int depth, int place, int mine) {
  even(depth + 1, 2 * place, mine);
  even(depth + 1, 2 * place + 1, mine);
}
void *first(void *_) {
  even(0, 0, 0);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  even(0, 0, 1);
  return 0;
}
int main(void) { both(first, second); }
