// In eight bits both wrap to a small number.
#include "program.h"
static _Atomic int flag;
static int data;
static void *first(void *unused) {
  flag = 250;
  data = 1; // RACE!
  flag = 251;
  return unused;
}
static void *second(void *unused) {
  late();
  int seen = flag;
  if ((unsigned char)(seen + 6) < 5)
    data = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
