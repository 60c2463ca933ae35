// flags: -fopenmp
// A task that is not to be deferred is run where it is made.
int data, first;
int main(void) {
#pragma omp parallel sections
  {
#pragma omp section
    for (int i = 0; i < 10; i++) {
#pragma omp task shared(data) if (0)
      data++; // NORACE
    }
#pragma omp section
    first = 1; // NORACE
  }
  return data + first;
}
