// Two threads get the memory of one round of the outer loop.
#include <pthread.h>
#include <stdlib.h>
void *worker(void *arg) {
  int *mine = arg;
  *mine = 8; // RACE!
  return 0;
}
int main(int argc, char **argv) {
  pthread_t thread;
  for (int i = 0; i < argc; i++) {
    int *data = malloc(3 * sizeof *data);
    for (int j = 0; j < 2; j++)
      pthread_create(&thread, 0, worker, data + i % 3);
  }
  return 0;
}
