// Different bytes of one word, which is also copied as a whole.
#include "program.h"
#include <string.h>
struct pair { char left[3], right[5]; };
static struct pair shared, before;
static void *first(void *unused) {
  shared.left[2] = 1; // NORACE
  memset(shared.left, 2, 2); // NORACE
  return unused;
}
static void *second(void *unused) {
  late();
  shared.right[0] = 1; // NORACE
  memcpy(&shared.right[1], "abc", 4); // NORACE
  return unused;
}
int main(void) {
  before = shared;
  both(first, second);
  printf("%d\n", shared.left[2] + before.right[0]);
  return 0;
}
