// Several threads of one function.
#include <pthread.h>
int x;
void *worker(void *unused) {
  x++; // RACE!
  return 0;
}
int main(void) {
  for (int i = 0; i < 5; i++) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
  }
  return 0;
}
