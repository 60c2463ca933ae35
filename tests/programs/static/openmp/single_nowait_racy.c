// flags: -fopenmp
#include <omp.h>
int n, m;
int main(void) {
#pragma omp parallel
  {
#pragma omp single nowait
    n = 1; // RACE!
    int k = n; // RACE!
    (void)k;
  }
  return n; // NORACE
}
