// flags: -fopenmp
// Each member makes a task and waits for its own alone.
int n;
int main(void) {
#pragma omp parallel
  {
#pragma omp task
    n = 1; // RACE!
#pragma omp taskwait
    n = 2; // RACE!
  }
  return n;
}
