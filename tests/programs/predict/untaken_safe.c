// The other side of the branch takes the same lock.
#include "program.h"
static _Atomic int y;
static int x;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *first(void *unused) {
  pthread_mutex_lock(&lock);
  x = 1; // NORACE
  pthread_mutex_unlock(&lock);
  y = 5;
  return unused;
}
static void *second(void *unused) {
  late();
  if (y > 4) {
    puts("late");
  } else {
    pthread_mutex_lock(&lock);
    printf("%d\n", x); // NORACE
    pthread_mutex_unlock(&lock);
  }
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
