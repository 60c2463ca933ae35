#include <pthread.h>
#include <stdlib.h>
int part[64];
void *worker(void *arg) {
  long own = (long)arg;
  for (int i = own; i < 64; i += 4)
    part[i] = i; // NORACE
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
