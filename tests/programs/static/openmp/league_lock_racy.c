// flags: -fopenmp
// Critical sections and locks keep the threads of one team apart, not those of several.
#include <omp.h>
int critical, locked;
int main(void) {
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp teams distribute parallel for num_teams(4)
  for (int i = 0; i < 100; i++) {
#pragma omp critical
    critical++; // RACE!
    omp_set_lock(&lock);
    locked++; // RACE!
    omp_unset_lock(&lock);
  }
  omp_destroy_lock(&lock);
  return critical + locked;
}
