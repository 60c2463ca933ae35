// flags: -fopenmp
#include <omp.h>
int a[256];
int main(void) {
#pragma omp parallel num_threads(4)
  a[omp_get_thread_num()]++; // NORACE
  return a[0]; // NORACE
}
