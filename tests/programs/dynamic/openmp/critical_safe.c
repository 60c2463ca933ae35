// A critical section, an atomic update and a barrier.
// FLAGS: -fopenmp
#include "../program.h"
int total, hits, ready;
int main(void) {
#pragma omp parallel num_threads(4)
  {
#pragma omp critical
    total++; // NORACE
#pragma omp atomic
    hits++; // NORACE
#pragma omp single
    ready = 1; // NORACE
    use(ready); // NORACE
#pragma omp barrier
    use(total); // NORACE
  }
}
