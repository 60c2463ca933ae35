// No second thread, nothing to race with.
#include <stdio.h>
#include <stdlib.h>
int x;
static void (*action)(void);
static void add(void) { x++; }
int main(int argc, char **argv) {
  action = add;
  action();
  char *copy = malloc(32);
  snprintf(copy, 32, "%d %s", x, argv[0]);
  puts(copy);
  free(copy);
  return x; // NORACE
}
