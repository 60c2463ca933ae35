#include <pthread.h>
#include <stdlib.h>
double part[4][8];
void *worker(void *arg) {
  long own = (long)arg;
  for (int i = 0; i < 8; i++)
    part[own][i] = i; // NORACE
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (long i = 0; i < 4; i++) {
    pthread_create(&t[i], 0, worker, (void *)i);
  }
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  return 0;
}
