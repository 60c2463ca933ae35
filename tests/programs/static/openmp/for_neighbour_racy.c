// flags: -fopenmp
#include <omp.h>
int a[101];
int main(void) {
#pragma omp parallel for
  for (int i = 0; i < 100; i++) a[i] = a[i + 1]; // RACE!
  return a[3]; // NORACE
}
