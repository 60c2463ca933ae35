// flags: -fopenmp
// A group waits for what was made inside it.
int n, m;
int main(void) {
  int r = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    n = 1; // RACE!
#pragma omp taskgroup
    {
#pragma omp task
      m = 2;
    }
    r = m + n; // RACE!
  }
  return r;
}
