// flags: -fopenmp
int n;
int main(void) {
  int r = 0;
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < 2; i++) {
#pragma omp taskwait
      n = 2; // NORACE
#pragma omp task
      n = 1; // NORACE
    }
  }
  return r;
}
