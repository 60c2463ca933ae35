// The reader comes before the block is freed, in this run.
#include "program.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *block, sum;
static void *first(void *unused) {
  pthread_mutex_lock(&lock);
  int *mine = block;
  pthread_mutex_unlock(&lock);
  sum = *mine; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_mutex_lock(&lock);
  int *old = block;
  pthread_mutex_unlock(&lock);
  free(old); // RACE!
  return unused;
}
int main(void) {
  block = calloc(1, sizeof *block);
  both(first, second);
  printf("%d\n", sum);
  return 0;
}
