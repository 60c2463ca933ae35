#include <pthread.h>
#include <stdlib.h>
int part[64];
void *worker(void *arg) {
  long own = (long)arg;
  for (int i = own * 16; i < (own + 1) * 16; i++)
    part[i] = i; // RACE!
  return 0;
}
void start(pthread_t *t) {
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, (void *)i);
}
int main(void) {
  pthread_t t[4], u[4];
  start(t);
  start(u);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  for (int i = 0; i < 4; i++) pthread_join(u[i], 0);
  return 0;
}
