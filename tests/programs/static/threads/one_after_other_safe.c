// Created and joined in each round: never two at once.
#include <pthread.h>
int x;
void *worker(void *unused) {
  x++; // NORACE
  return 0;
}
int main(void) {
  for (int i = 0; i < 5; i++) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    x--; // NORACE
  }
  return 0;
}
