// flags: -fopenmp
#include <omp.h>
int a[100], b[100];
int main(void) {
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < 100; i++) a[i] = i; // NORACE
#pragma omp for
    for (int i = 0; i < 100; i++) b[i] = a[99 - i]; // NORACE
  }
  return b[0]; // NORACE
}
