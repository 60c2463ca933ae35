// flags: -fopenmp
#include <pthread.h>
// The end of a region waits for tasks, not for threads that they start.
int n;
void *work(void *argument) {
  n = 1; // RACE!
  return 0;
}
int main(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    {
      pthread_t t;
      pthread_create(&t, 0, work, 0);
    }
  }
  return n; // RACE!
}
