// flags: -fopenmp
#include <omp.h>
int a[100];
int main(void) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 100; i++) sum += a[i]; // NORACE
  return sum; // NORACE
}
