// flags: -fopenmp
#include <omp.h>
int n, seen[64];
int main(void) {
#pragma omp parallel
  {
#pragma omp master
    n = 1; // RACE!
    seen[omp_get_thread_num()] = n; // RACE!
  }
  return 0;
}
