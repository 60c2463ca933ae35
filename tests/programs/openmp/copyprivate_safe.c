// What one thread got is copied to all.
// FLAGS: -fopenmp
#include <omp.h>
int seen[3], source = 7;
int main(void) {
#pragma omp parallel num_threads(3)
  {
    int mine = 0;
#pragma omp single copyprivate(mine)
    mine = source++; // NORACE
    seen[omp_get_thread_num()] = mine; // NORACE
  }
  return seen[0] + seen[1] + seen[2] != 21; // NORACE
}
