// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    n = 1; // NORACE
#pragma omp taskwait
    n = 2; // NORACE
  }
  return n;
}
