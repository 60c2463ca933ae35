// flags: -fopenmp
#include <pthread.h>
pthread_barrier_t barrier;
int n;
int main(void) {
  int r = 0;
  pthread_barrier_init(&barrier, 0, 2);
#pragma omp parallel num_threads(2)
  {
#pragma omp master
    {
#pragma omp task
      n = 1; // RACE!
    }
    pthread_barrier_wait(&barrier);
#pragma omp master
    r = n; // RACE!
  }
  return r;
}
