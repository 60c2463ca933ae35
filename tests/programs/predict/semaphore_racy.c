// The data is written after the post.
#include "program.h"
static sem_t items;
static int data;
static void *first(void *unused) {
  sem_post(&items);
  data = 1; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  sem_wait(&items);
  data = 2; // RACE!
  return unused;
}
int main(void) {
  sem_init(&items, 0, 0);
  both(first, second);
  return 0;
}
