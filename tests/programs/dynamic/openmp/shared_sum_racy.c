// A sum without a reduction.
// FLAGS: -fopenmp
#include "../program.h"
int sum;
int main(void) {
#pragma omp parallel for num_threads(4) schedule(static, 1)
  for (int i = 0; i < 100; i++)
    sum += i; // RACE!
}
