// Every thread gets memory of its own, wherever in it its part begins.
#include <pthread.h>
#include <stdlib.h>
void *worker(void *arg) {
  int *mine = arg;
  *mine = 8; // NORACE
  return 0;
}
int main(int argc, char **argv) {
  pthread_t thread;
  for (int i = 0; i < argc; i++) {
    int *data = malloc(3 * sizeof *data);
    pthread_create(&thread, 0, worker, &data[i % 3]);
  }
  return 0;
}
