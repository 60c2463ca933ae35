// Each pair of threads gets one element of memory that was allocated before all of them.
#include <pthread.h>
#include <stdlib.h>
void *worker(void *arg) {
  int *mine = arg;
  *mine = 8; // RACE!
  return 0;
}
int main(int argc, char **argv) {
  pthread_t threads[64];
  int *data = malloc(64 * sizeof *data);
  for (int i = 0; i < argc; i++)
    pthread_create(&threads[i], 0, worker, &data[i / 2]);
  for (int i = 0; i < argc; i++)
    pthread_join(threads[i], 0);
  return data[0];
}
