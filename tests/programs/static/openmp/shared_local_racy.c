// flags: -fopenmp
#include <omp.h>
int main(void) {
  int x = 0;
#pragma omp parallel
  {
    if (x == 0) x = omp_get_thread_num(); // RACE!
  }
  return x; // NORACE
}
