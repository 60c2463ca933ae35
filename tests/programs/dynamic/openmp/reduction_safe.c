// A reduction and a loop over distinct elements.
// FLAGS: -fopenmp
#include "../program.h"
int values[100];
int main(void) {
  int sum = 0;
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 100; i++)
    values[i] = i; // NORACE
#pragma omp parallel for num_threads(4) reduction(+ : sum)
  for (int i = 0; i < 100; i++)
    sum += values[99 - i]; // NORACE
  return sum != 4950;
}
