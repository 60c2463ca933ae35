// The sections can swap, and happens-before does not see it.
#include "program.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data, ready;
static void *first(void *unused) {
  data = 1; // RACE!
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_mutex_lock(&lock);
  int unused_read = ready;
  pthread_mutex_unlock(&lock);
  (void)unused_read;
  data = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
