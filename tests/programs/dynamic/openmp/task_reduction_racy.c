// A task adds to its part of a sum, and to a number that another thread changes as well.
// FLAGS: -fopenmp -O1
#include "../program.h"
int sum, other;
int main(void) {
#pragma omp parallel num_threads(2)
  {
    int is_single = 0;
#pragma omp single nowait
    {
      is_single = 1;
#pragma omp taskgroup task_reduction(+ : sum)
      {
#pragma omp task in_reduction(+ : sum)
        {
          sum += 1;  // NORACE
          other = 1; // RACE!
          done();
        }
      }
    }
    if (!is_single) {
      step(1);
      other = 2; // RACE!
    }
  }
}
