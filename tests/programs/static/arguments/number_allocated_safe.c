#include <pthread.h>
#include <stdlib.h>
int part[8];
void *worker(void *arg) {
  int own = *(int *)arg; // NORACE
  free(arg);
  part[own] = own; // NORACE
  return 0;
}
int main(void) {
  pthread_t t[8];
  for (int i = 0; i < 8; i++) {
    int *number = malloc(sizeof *number);
    *number = i; // NORACE
    pthread_create(&t[i], 0, worker, number);
  }
  for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
  return part[3];
}
