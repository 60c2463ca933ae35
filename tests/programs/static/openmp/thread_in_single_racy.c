// flags: -fopenmp
#include <pthread.h>
// One member has joined the thread, the others go on beside it.
int n;
void *work(void *argument) {
  n = 1; // RACE!
  return 0;
}
int main(void) {
  int r = 0;
#pragma omp parallel
  {
#pragma omp single nowait
    {
      pthread_t t;
      pthread_create(&t, 0, work, 0);
      pthread_join(t, 0);
    }
#pragma omp critical
    r += n; // RACE!
  }
  return r;
}
