// flags: -fopenmp
#include <omp.h>
int n;
omp_lock_t l;
int main(void) {
  omp_init_lock(&l);
#pragma omp parallel
  {
    omp_set_lock(&l);
    n++; // NORACE
    omp_unset_lock(&l);
  }
  omp_destroy_lock(&l);
  return n; // NORACE
}
