// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    n = 1; // RACE!
    n = 2; // RACE!
  }
  return n;
}
