// flags: -fopenmp
// The first member's own second element is not at the beginning of its copy either.
#include <stdint.h>
int pair[2];
#pragma omp threadprivate(pair)
int main(void) {
  int *first = pair;
#pragma omp parallel num_threads(4)
  if ((uintptr_t)first != (uintptr_t)&pair[1])
    pair[0] = first[0] + 1; // RACE!
  return pair[0];
}
