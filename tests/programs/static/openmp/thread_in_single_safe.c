// flags: -fopenmp
#include <pthread.h>
int n;
void *work(void *argument) {
  n = 1; // NORACE
  return 0;
}
int main(void) {
#pragma omp parallel
#pragma omp single
  {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
    n = 2; // NORACE
  }
  return n; // NORACE
}
