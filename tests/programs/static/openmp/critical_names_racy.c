// flags: -fopenmp
#include <omp.h>
int n;
int main(void) {
#pragma omp parallel
  {
#pragma omp critical(one)
    n++; // RACE!
#pragma omp critical(two)
    n--; // RACE!
  }
  return 0;
}
