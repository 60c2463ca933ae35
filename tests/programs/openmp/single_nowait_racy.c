// Nobody waits for the thread that got the single part.
// FLAGS: -fopenmp
#include <omp.h>
int ready, seen[2];
int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp single nowait
    ready = 1; // RACE!
    seen[omp_get_thread_num()] = ready; // RACE!
  }
  return 0;
}
