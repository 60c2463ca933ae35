#include <pthread.h>
#include <stdlib.h>
// Each thread gets the first context.
struct context {
  int number, *scratch;
};
static void *worker(void *argument) {
  struct context *context = argument;
  context->scratch = malloc(sizeof(int)); // RACE!
  free(context->scratch); // RACE!
  return 0;
}
int main(void) {
  pthread_t threads[4];
  struct context *all[4];
  for (int i = 0; i < 4; i++) {
    all[i] = malloc(sizeof **all);
    all[i]->number = i;
    pthread_create(&threads[i], 0, worker, all[0]);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  return 0;
}
