// flags: -fopenmp
#include <omp.h>
int a[100];
int main(void) {
  int t;
#pragma omp parallel for
  for (int i = 0; i < 100; i++) {
    t = a[i] * 2; // RACE!
    a[i] = t;     // RACE!
  }
  return a[3]; // NORACE
}
