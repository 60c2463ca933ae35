// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel
  {
#pragma omp parallel
    {
#pragma omp master
      n++; // RACE!
    }
  }
  return n; // NORACE
}
