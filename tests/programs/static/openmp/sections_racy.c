// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel sections // RACE! miss(static): where an optimiser may put both stores
  {
#pragma omp section
    n = 1; // RACE!
#pragma omp section
    n = 2; // RACE!
  }
  return n; // NORACE
}
