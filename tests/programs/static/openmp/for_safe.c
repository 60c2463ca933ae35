// flags: -fopenmp
#include <omp.h>
int a[100];
int main(void) {
#pragma omp parallel for
  for (int i = 0; i < 100; i++) a[i] = i; // NORACE
  return a[3]; // NORACE
}
