// flags: -fopenmp
#include <omp.h>
int n, m;
int main(void) {
#pragma omp parallel sections
  {
#pragma omp section
    n = 1; // NORACE
#pragma omp section
    m = 2; // NORACE
  }
  return n + m; // NORACE
}
