// flags: -fopenmp
#include <omp.h>
int a[100];
int main(void) {
#pragma omp parallel for schedule(dynamic, 4)
  for (int i = 0; i < 100; i++) a[i] += 2 * i; // NORACE
  return a[3]; // NORACE
}
