// The data is written before the post.
#include "program.h"
static sem_t items;
static int data;
static void *first(void *unused) {
  data = 1; // NORACE
  sem_post(&items);
  return unused;
}
static void *second(void *unused) {
  late();
  sem_wait(&items);
  data = 2; // NORACE
  return unused;
}
int main(void) {
  sem_init(&items, 0, 0);
  both(first, second);
  return 0;
}
