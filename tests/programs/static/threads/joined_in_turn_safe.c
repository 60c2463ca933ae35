#include <pthread.h>
#include <stdlib.h>
struct data { int number, count; };
void *worker(void *arg) {
  struct data *own = arg;
  own->count++; // NORACE
  return 0;
}
int main(int argc, char **argv) {
  pthread_t *t = malloc(argc * sizeof *t);
  struct data *data = calloc(argc + 1, sizeof *data);
  int sum = 0;
  for (int i = 0; i < argc; i++) {
    data[i].count = 0; // NORACE
    pthread_create(&t[i], 0, worker, &data[i]);
  }
  for (int i = 0; i < argc; i++) {
    pthread_join(t[i], 0);
    sum += data[i].count; // NORACE
  }
  return sum;
}
