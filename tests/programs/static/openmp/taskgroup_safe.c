// flags: -fopenmp
int n, m;
int main(void) {
  int r = 0;
#pragma omp parallel
#pragma omp master
  {
#pragma omp taskgroup
    {
#pragma omp task
      n = 1; // NORACE
      for (int i = 0; i < 4; i++) {
#pragma omp task
        {
#pragma omp critical
          m += 2; // NORACE
        }
      }
    }
    r = n + m; // NORACE
  }
  return r;
}
