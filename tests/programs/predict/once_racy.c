// Each thread initialises what it finds empty.
#include "program.h"
static int data;
static void *first(void *unused) {
  if (!data)  // RACE!
    data = 1; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  if (!data)  // RACE!
    data = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
