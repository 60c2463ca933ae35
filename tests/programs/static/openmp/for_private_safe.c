// flags: -fopenmp
#include <omp.h>
int a[100];
int main(void) {
  int t = 3;
#pragma omp parallel for firstprivate(t)
  for (int i = 0; i < 100; i++) {
    t = i * 2; // NORACE
    a[i] = t;  // NORACE
  }
  return a[3]; // NORACE
}
