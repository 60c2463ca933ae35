// flags: -fopenmp
int n, m;
int main(void) {
  int r = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup
    {
#pragma omp task
      n = 1; // RACE!
#pragma omp taskgroup
      {
#pragma omp task
        m = 1;
      }
      r = n; // RACE!
    }
  }
  return r;
}
