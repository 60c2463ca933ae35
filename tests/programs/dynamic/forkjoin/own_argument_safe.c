// Every thread gets an argument of its own.
#include "../program.h"
void *work(void *argument) {
  ++*(int *)argument; // NORACE
  return argument;
}
int main(void) {
  int arguments[4] = {0};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    threads[i] = start(work, &arguments[i]);
  for (int i = 0; i < 4; i++) {
    void *result;
    pthread_join(threads[i], &result);
    use(*(int *)result); // NORACE
  }
}
