// flags: -fopenmp
#include <omp.h>
int mine, total;
#pragma omp threadprivate(mine)
int main(void) {
#pragma omp parallel
  {
    mine = omp_get_thread_num(); // NORACE
#pragma omp critical
    total += mine; // NORACE
  }
  return total; // NORACE
}
