// Both only copy from it.
#include "program.h"
#include <string.h>
struct text { char letters[24]; };
static struct text shared, mine, yours;
static void *first(void *unused) {
  memcpy(&mine, &shared, sizeof mine); // NORACE
  return unused;
}
static void *second(void *unused) {
  late();
  yours = shared; // NORACE
  char letter = shared.letters[1]; // NORACE
  yours.letters[0] = letter;
  return unused;
}
int main(void) {
  memset(&shared, 'x', sizeof shared);
  both(first, second);
  printf("%c%c\n", yours.letters[0], mine.letters[0]);
  return 0;
}
