// flags: -fopenmp
// One element too many, and steps that are not as wide as the team.
#include <omp.h>
int parts[1001], dealt[1000];
int main(void) {
#pragma omp parallel
  {
    int number = omp_get_thread_num(), members = omp_get_num_threads();
    int from = number * 1000 / members, to = (number + 1) * 1000 / members;
    for (int i = from; i <= to; i++)
      parts[i]++; // RACE!
    for (int i = number; i < 1000; i += 2)
      dealt[i]++; // RACE!
  }
  return parts[0] + dealt[0];
}
