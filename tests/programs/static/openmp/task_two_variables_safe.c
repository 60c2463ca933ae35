// flags: -fopenmp
// Each task is told of two variables, and writes one of them.
int main(void) {
  int one = 0, other = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task shared(one, other)
    {
      one = 1; // NORACE
    }
#pragma omp task shared(one, other)
    {
      other = 2; // NORACE
    }
  }
  return one + other;
}
