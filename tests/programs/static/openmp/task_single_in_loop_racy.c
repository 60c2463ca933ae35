// flags: -fopenmp
// Without a barrier two members may be in the single at once.
int n;
int main(void) {
#pragma omp parallel
  for (int i = 0; i < 2; i++) {
#pragma omp single nowait
    {
#pragma omp task
      n = 1; // RACE!
#pragma omp taskwait
      n = 2; // RACE!
    }
  }
  return n;
}
