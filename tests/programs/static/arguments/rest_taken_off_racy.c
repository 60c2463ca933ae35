// Even and odd threads meet: what is taken off the number differs from round to round, too.
#include <pthread.h>
int data[64];
void *worker(void *arg) {
  int *mine = arg;
  *mine = 8; // RACE!
  return 0;
}
int main(int argc, char **argv) {
  pthread_t threads[64];
  for (int i = 0; i < argc; i++)
    pthread_create(&threads[i], 0, worker, &data[i - i % 2]);
  for (int i = 0; i < argc; i++)
    pthread_join(threads[i], 0);
  return data[0];
}
