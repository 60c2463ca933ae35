// A table moves every other thread back to its neighbour's element.
#include <pthread.h>
int back[8];
int data[8];
void *worker(void *arg) {
  int *mine = arg;
  *mine = 8; // RACE!
  return 0;
}
static void start(pthread_t *thread, int *part) { pthread_create(thread, 0, worker, part); }
int main(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; i++)
    back[i] = -(i % 2);
  for (int i = 0; i < 8; i++)
    start(&threads[i], &data[i + back[i]]);
  for (int i = 0; i < 8; i++)
    pthread_join(threads[i], 0);
  return data[0];
}
