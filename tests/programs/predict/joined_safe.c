// The parent waits for its child.
#include "program.h"
static int data;
static void *child(void *unused) {
  data = 1; // NORACE
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, child, NULL);
  pthread_join(thread, NULL);
  data = 2; // NORACE
  return 0;
}
