// flags: -fopenmp
// The barrier is before the task.
int n;
int main(void) {
  int r = 0;
#pragma omp parallel
  {
#pragma omp barrier
#pragma omp master
    {
#pragma omp task
      n = 1; // RACE!
    }
#pragma omp critical
    r += n; // RACE!
  }
  return r;
}
