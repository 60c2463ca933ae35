#include <pthread.h>
#include <stdlib.h>
struct task { int number, from, to; int *out; };
int part[64];
void *worker(void *arg) {
  struct task *own = arg;
  own->out[own->number] = 1; // NORACE
  return 0;
}
int main(void) {
  pthread_t t[4];
  struct task task[5];
  for (long i = 0; i < 4; i++) {
    task[i].number = i;
    task[i].from = 16 * i;
    task[i].to = 16 * (i + 1);
    task[i].out = part;
    pthread_create(&t[i], 0, worker, &task[i]);
  }
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  return 0;
}
