// flags: -fopenmp
#include <omp.h>
int n;
double d;
int main(void) {
#pragma omp parallel
  {
#pragma omp atomic
    n++; // NORACE
#pragma omp atomic
    d += 0.5; // NORACE
  }
  return n; // NORACE
}
