// flags: -fopenmp
int n;
int main(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    n = 1; // RACE!
#pragma omp task
    n = 2; // RACE!
#pragma omp taskwait
    n = 3;
  }
  return n;
}
