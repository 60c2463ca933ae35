#include <pthread.h>
#include <stdlib.h>
struct context {
  int number, *scratch;
};
static void *worker(void *argument) {
  struct context *context = argument;
  context->scratch = malloc(sizeof(int)); // NORACE
  *context->scratch = context->number; // NORACE alarm(static): kept in an array, so others may know it
  free(context->scratch); // NORACE alarm(static): the same
  return 0;
}
int main(void) {
  pthread_t threads[4];
  struct context *all[4];
  for (int i = 0; i < 4; i++) {
    all[i] = malloc(sizeof **all);
    all[i]->number = i; // NORACE alarm(static): the same
    pthread_create(&threads[i], 0, worker, all[i]);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  return 0;
}
