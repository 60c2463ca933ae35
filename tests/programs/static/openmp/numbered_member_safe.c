// flags: -fopenmp
// What one member alone does is told by its number, whichever it is.
#include <omp.h>
int first, second, last;
int main(void) {
#pragma omp parallel num_threads(4)
  {
    int number = omp_get_thread_num();
    if (number == 0)
      first++; // NORACE
    if (omp_get_thread_num() == 2)
      second++; // NORACE
    if (number == omp_get_num_threads() - 1)
      last++; // NORACE
#pragma omp barrier
    if (number == 1)
      first++; // NORACE
  }
  return first + second + last;
}
