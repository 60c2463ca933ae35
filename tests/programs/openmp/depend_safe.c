// Tasks in the order of what they depend on: a writer, two readers, a writer.
// FLAGS: -fopenmp
int value, copies[2];
int main(void) {
#pragma omp parallel num_threads(4)
#pragma omp single
  {
#pragma omp task depend(out : value)
    value = 5; // NORACE
#pragma omp task depend(in : value)
    copies[0] = value; // NORACE
#pragma omp task depend(in : value)
    copies[1] = value; // NORACE
#pragma omp task depend(inout : value)
    value++; // NORACE
  }
  return value + copies[0] + copies[1] != 16; // NORACE
}
