// In eight bits only the last wraps to zero.
#include "program.h"
static _Atomic int flag;
static int data;
static void *first(void *unused) {
  flag = 250;
  data = 1; // NORACE
  flag = 251;
  return unused;
}
static void *second(void *unused) {
  late();
  int seen = flag;
  if ((unsigned char)(seen + 5) == 0)
    data = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
