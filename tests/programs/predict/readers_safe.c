// The writer holds the lock alone.
#include "program.h"
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int data;
static void *first(void *unused) {
  pthread_rwlock_wrlock(&lock);
  data = 1; // NORACE
  pthread_rwlock_unlock(&lock);
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_rwlock_rdlock(&lock);
  printf("%d\n", data); // NORACE
  pthread_rwlock_unlock(&lock);
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
