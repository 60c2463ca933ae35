// flags: -fopenmp
// Every other member comes here.
#include <omp.h>
int data;
int main(void) {
#pragma omp parallel num_threads(4)
  if (omp_get_thread_num() % 2 == 0)
    data++; // RACE!
  return data;
}
