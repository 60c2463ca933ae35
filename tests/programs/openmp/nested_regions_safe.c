// Teams within a team, each with barriers of its own.
// FLAGS: -fopenmp
#include <omp.h>
int cells[2][2], sums[2];
int main(void) {
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
    {
      int inner = omp_get_thread_num();
      cells[outer][inner] = inner + 1; // NORACE
#pragma omp barrier
#pragma omp master
      sums[outer] = cells[outer][0] + cells[outer][1]; // NORACE
    }
    sums[outer]++; // NORACE
  }
  return sums[0] + sums[1] < 4; // NORACE
}
