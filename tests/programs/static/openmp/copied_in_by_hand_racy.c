// flags: -fopenmp
// Nobody waits until the first member's copy was read, and a pointer leads there from everywhere.
int counter;
#pragma omp threadprivate(counter)
int main(void) {
  int *first = &counter;
  counter = 1;
#pragma omp parallel num_threads(4)
  {
    int own = *first; // RACE!
    counter = own + 1; // RACE!
  }
  return counter;
}
