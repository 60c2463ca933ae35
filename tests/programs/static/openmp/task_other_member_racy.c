// flags: -fopenmp
// The member that made the task has waited for it, the others have not.
int n;
int main(void) {
  int r = 0;
#pragma omp parallel
  {
#pragma omp single nowait
    {
#pragma omp task
      n = 1; // RACE!
#pragma omp taskwait
    }
#pragma omp critical
    r += n; // RACE!
  }
  return r;
}
