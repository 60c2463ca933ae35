// Two threads, two locks, one counter.
// FLAGS: -fopenmp
#include <omp.h>
int n;
omp_lock_t locks[2];
int main(void) {
  omp_init_lock(&locks[0]);
  omp_init_lock(&locks[1]);
#pragma omp parallel num_threads(2)
  {
    omp_lock_t *mine = &locks[omp_get_thread_num()];
    omp_set_lock(mine);
    n++; // RACE!
    omp_unset_lock(mine);
  }
  return 0;
}
