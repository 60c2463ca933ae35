// flags: -fopenmp
// The task that is made after the group of one round is not waited for by the group of the next.
int n, m;
int main(void) {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 4; i++) {
#pragma omp taskgroup
    {
#pragma omp task
      m = 2;
    }
    n = 2; // RACE!
#pragma omp task
    n = 1; // RACE!
  }
  return n;
}
