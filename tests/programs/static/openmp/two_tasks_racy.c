// flags: -fopenmp
#include <omp.h>
int main(void) {
  int n = 0;
#pragma omp parallel shared(n)
#pragma omp single
  {
#pragma omp task shared(n)
    n++; // RACE!
#pragma omp task shared(n)
    n++; // RACE!
  }
  return n;
}
