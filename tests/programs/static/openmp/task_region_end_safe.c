// flags: -fopenmp
// A region ends when its tasks have, and those that they made.
int n, m;
int main(void) {
#pragma omp parallel
#pragma omp single nowait
  {
#pragma omp task
    {
#pragma omp task
      m = 2; // NORACE
      n = 1; // NORACE
    }
  }
  return n + m; // NORACE
}
