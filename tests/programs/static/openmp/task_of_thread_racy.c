// flags: -fopenmp
#include <pthread.h>
// A thread's own tasks are not the team's that started the thread.
int n;
void *work(void *argument) {
#pragma omp task
  n = 1; // RACE!
  return 0;
}
int main(void) {
#pragma omp parallel
#pragma omp single
  {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
  }
  return n; // RACE!
}
