#include <pthread.h>
#include <stdlib.h>
// The context of the round before is written when its thread may run.
struct context {
  int number;
};
static void *worker(void *argument) {
  struct context *context = argument;
  return (void *)(long)context->number; // RACE!
}
int main(void) {
  pthread_t threads[4];
  struct context *all[4];
  for (int i = 0; i < 4; i++) {
    all[i] = malloc(sizeof **all);
    all[i]->number = i;
    if (i > 0) all[i - 1]->number = i; // RACE!
    pthread_create(&threads[i], 0, worker, all[i]);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  return 0;
}
