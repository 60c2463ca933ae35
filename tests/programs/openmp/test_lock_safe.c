// A lock that is only tried; who does not get it leaves the counter alone.
// FLAGS: -fopenmp
#include <omp.h>
int n, missed[3];
omp_lock_t lock;
int main(void) {
  omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
  {
    if (omp_test_lock(&lock)) {
      n++; // NORACE
      omp_unset_lock(&lock);
    } else {
      missed[omp_get_thread_num()]++; // NORACE
    }
  }
  return n + missed[0] + missed[1] + missed[2] != 3; // NORACE
}
