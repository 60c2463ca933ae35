// flags: -fopenmp
int n;
int main(void) {
  int r = 0;
#pragma omp parallel
  {
#pragma omp master
    {
#pragma omp task
      n = 1; // NORACE
    }
#pragma omp barrier
#pragma omp critical
    r += n; // NORACE
  }
  return r;
}
