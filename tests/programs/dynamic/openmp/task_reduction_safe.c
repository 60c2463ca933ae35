// Tasks add to parts of their own, which are added up when the group of tasks has ended.
// FLAGS: -fopenmp -O1
#include "../program.h"
int sum;
int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : sum) // NORACE
    {
      for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : sum)
        sum += i; // NORACE
      }
    }
    use(sum); // NORACE
  }
}
