// flags: -fopenmp
// What a task made that ran at once is not waited for by whoever made that task.
int n;
int main(void) {
  int r = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task if (0)
    {
#pragma omp task
      n = 1; // RACE!
    }
#pragma omp taskwait
    r = n; // RACE!
  }
  return r;
}
