// The copy that one thread makes is over what the other reads.
#include "program.h"
#include <string.h>
struct text { char letters[24]; };
static struct text shared, mine, yours;
static void *first(void *unused) {
  memcpy(&shared, &mine, sizeof shared); // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  yours = shared; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  printf("%c\n", yours.letters[0]);
  return 0;
}
