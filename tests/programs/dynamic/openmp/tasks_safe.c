// A taskwait orders tasks before what follows.
// FLAGS: -fopenmp
#include "../program.h"
int left, right;
int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    left = 1; // NORACE
#pragma omp task
    right = 2; // NORACE
#pragma omp taskwait
    use(left + right); // NORACE
  }
}
