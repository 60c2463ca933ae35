// The end of a group waits for its tasks and for theirs.
// FLAGS: -fopenmp
int n, m;
int main(void) {
#pragma omp parallel num_threads(3)
#pragma omp single
  {
#pragma omp taskgroup
    {
#pragma omp task
      {
        n = 1; // NORACE
#pragma omp task
        m = 1; // NORACE
      }
    }
    n += m; // NORACE
  }
  return n != 2; // NORACE
}
