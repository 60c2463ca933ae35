// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel
  {
#pragma omp master
    n = 1; // NORACE
  }
  return n; // NORACE
}
