// The access happens only when the try succeeded.
#include "program.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data;
static void *first(void *unused) {
  pthread_mutex_lock(&lock);
  data = 1; // NORACE
  pthread_mutex_unlock(&lock);
  return unused;
}
static void *second(void *unused) {
  late();
  if (pthread_mutex_trylock(&lock) == 0) {
    data = 2; // NORACE
    pthread_mutex_unlock(&lock);
  }
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
