// flags: -fopenmp
// The first threads of the teams of a league all have the number zero.
#include <omp.h>
int data, slots[8];
int main(void) {
#pragma omp teams num_teams(4)
  {
    if (omp_get_thread_num() == 0)
      data++; // RACE!
    slots[omp_get_thread_num()]++; // RACE!
  }
  return data + slots[0];
}
