// flags: -fopenmp
#include <omp.h>
int n, m;
int main(void) {
#pragma omp parallel
  {
#pragma omp single
    n = 1; // NORACE
    if (n) { // NORACE
#pragma omp atomic
      m++; // NORACE
    }
  }
  return n + m; // NORACE
}
