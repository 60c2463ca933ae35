// flags: -fopenmp
// The number is kept where all members put theirs.
#include <omp.h>
int number, data;
int main(void) {
#pragma omp parallel num_threads(4)
  {
    number = omp_get_thread_num(); // RACE!
    if (number == 0) // RACE!
      data++; // RACE!
  }
  return data;
}
