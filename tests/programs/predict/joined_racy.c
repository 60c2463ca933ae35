// The parent does not wait for its child.
#include "program.h"
static int data;
static void *child(void *unused) {
  data = 1; // RACE!
  finished();
  return unused;
}
int main(void) {
  pthread_t thread;
  prepare();
  pthread_create(&thread, NULL, child, NULL);
  late();
  data = 2; // RACE!
  pthread_join(thread, NULL);
  return 0;
}
