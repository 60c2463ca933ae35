// flags: -fopenmp
#include <omp.h>
int n;
static void once(void) {
#pragma omp single nowait
  n++; // RACE!
}
int main(void) {
#pragma omp parallel
  {
    once();
    once();
  }
  return n; // NORACE
}
