// flags: -fopenmp
// A task that runs at once waits for its own tasks, not for those of whoever made it.
int n;
int main(void) {
  int r = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    n = 1; // RACE!
#pragma omp task if (0)
    {
#pragma omp taskwait
    }
    r = n; // RACE!
  }
  return r;
}
