// The number is zero unless it is set.
#include <pthread.h>
#include <stdlib.h>
struct task { int index; };
int cells[2], wanted;
void *work(void *argument) {
  struct task *task = argument;
  cells[task->index] = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t s, t;
  struct task *first = malloc(sizeof *first), *second = calloc(1, sizeof *second);
  first->index = 0;
  if (wanted) second->index = 1;
  pthread_create(&s, 0, work, first);
  pthread_create(&t, 0, work, second);
  pthread_join(s, 0);
  pthread_join(t, 0);
  return 0;
}
