// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel sections
  {
#pragma omp section
    n = 1; // RACE!
#pragma omp section
    n = 2; // RACE!
  }
  return n; // NORACE
}
