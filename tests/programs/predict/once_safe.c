// pthread_once initialises.
#include "program.h"
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int data;
static void fill(void) { data = 1; } // NORACE
static void *first(void *unused) {
  pthread_once(&once, fill);
  printf("%d\n", data); // NORACE
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_once(&once, fill);
  printf("%d\n", data); // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
