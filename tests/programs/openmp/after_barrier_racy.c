// The barrier orders what is before it, not what is behind it.
// FLAGS: -fopenmp
#include <omp.h>
int before[2], behind;
int main(void) {
#pragma omp parallel num_threads(2)
  {
    before[omp_get_thread_num()] = 1; // NORACE
#pragma omp barrier
    behind += before[0] + before[1]; // RACE!
  }
  return 0;
}
