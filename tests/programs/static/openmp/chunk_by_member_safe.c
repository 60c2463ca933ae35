// flags: -fopenmp
// Members work from their own number's bound to the next one's, and on every so manieth element.
#include <omp.h>
int parts[1000], dealt[1000];
int main(void) {
#pragma omp parallel
  {
    int number = omp_get_thread_num(), members = omp_get_num_threads();
    int from = number * 1000 / members, to = (number + 1) * 1000 / members;
    for (int i = from; i < to; i++)
      parts[i]++; // NORACE
    for (int i = number; i < 1000; i += members)
      dealt[i]++; // NORACE
  }
  return parts[0] + dealt[0];
}
