// The guard is what a function outside makes of shared text.
#include "program.h"
#include <string.h>
static char word[8] = "no";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data;
static void *first(void *unused) {
  data = 1; // NORACE
  pthread_mutex_lock(&lock);
  word[0] = 'y';
  pthread_mutex_unlock(&lock);
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_mutex_lock(&lock);
  int yes = strcmp(word, "yo") == 0;
  pthread_mutex_unlock(&lock);
  if (yes)
    data = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
