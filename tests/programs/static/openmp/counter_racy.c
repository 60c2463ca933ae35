// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel
  n++; // RACE!
  return n; // NORACE
}
