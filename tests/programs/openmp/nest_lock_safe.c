// A lock that its holder may take again.
// FLAGS: -fopenmp
#include <omp.h>
int n;
omp_nest_lock_t lock;
static void add(int times) {
  omp_set_nest_lock(&lock);
  n++; // NORACE
  if (times > 0)
    add(times - 1);
  omp_unset_nest_lock(&lock);
}
int main(void) {
  omp_init_nest_lock(&lock);
#pragma omp parallel num_threads(3)
  add(2);
  omp_destroy_nest_lock(&lock);
  return n != 9; // NORACE
}
