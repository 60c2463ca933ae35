// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    n = 1; // NORACE alarm(static): waiting for tasks is not followed
#pragma omp taskwait
    n = 2; // NORACE alarm(static): waiting for tasks is not followed
  }
  return n;
}
