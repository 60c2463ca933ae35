// flags: -fopenmp
// Each member but the first fills its own copies from those of the first.
int counter, step;
#pragma omp threadprivate(counter, step)
int main(void) {
  int sum = 0;
  counter = 1; // NORACE
  step = 2; // NORACE
#pragma omp parallel copyin(counter, step)
  {
    counter += step; // NORACE
#pragma omp critical
    sum += counter; // NORACE
  }
  return sum;
}
