// flags: -fopenmp
#include <omp.h>
int a[64], b[64];
int main(void) {
#pragma omp parallel
  {
    int i = omp_get_thread_num();
    a[i] = i; // NORACE
#pragma omp barrier
    b[i] = a[(i + 1) % 4]; // NORACE
  }
  return b[0]; // NORACE
}
