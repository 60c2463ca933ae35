// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel
  {
#pragma omp critical
    n++; // NORACE
  }
  return n; // NORACE
}
