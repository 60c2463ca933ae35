// The number is changed before the thread looks.
#include <pthread.h>
struct task { int index; int other; };
int cells[2];
void *work(void *argument) {
  struct task *task = argument;
  cells[task->index] = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t s, t;
  struct task first, second;
  first.index = 0;
  second.index = 1;
  pthread_create(&s, 0, work, &first);
  pthread_create(&t, 0, work, &second);
  first.index = 1; // RACE!
  pthread_join(s, 0);
  pthread_join(t, 0);
  return 0;
}
