// The fill reaches one byte too far.
#include "program.h"
#include <string.h>
struct pair { char left[3], right[5]; };
static struct pair shared, before;
static void *first(void *unused) {
  shared.left[2] = 1; // NORACE
  memset(shared.left, 2, 4); // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  shared.right[0] = 1; // RACE!
  return unused;
}
int main(void) {
  before = shared;
  both(first, second);
  printf("%d\n", shared.left[2] + before.right[0]);
  return 0;
}
