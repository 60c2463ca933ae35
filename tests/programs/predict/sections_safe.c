// What was read in the section decides.
#include "program.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data, ready;
static void *first(void *unused) {
  data = 1; // NORACE
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_mutex_lock(&lock);
  int seen = ready;
  pthread_mutex_unlock(&lock);
  if (seen)
    data = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
