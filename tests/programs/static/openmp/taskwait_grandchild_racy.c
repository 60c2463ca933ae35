// flags: -fopenmp
// Waiting for tasks does not wait for those that they made.
int n;
int main(void) {
  int r = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task shared(n)
    {
#pragma omp task shared(n)
      n = 1; // RACE!
    }
#pragma omp taskwait
    r = n; // RACE!
  }
  return r;
}
