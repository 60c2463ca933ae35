#include <pthread.h>
#include <stdlib.h>
int part[65];
void *worker(void *arg) {
  long own = (long)arg;
  for (int i = own * 16; i < (own + 1) * 16 + 1; i++)
    part[i] = i; // RACE!
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
