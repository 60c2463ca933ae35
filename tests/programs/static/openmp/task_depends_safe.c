// flags: -fopenmp
// Tasks of one member that name one address, and one of them not to read it, run one after the other.
int first, second, third, sum, either;
static void chain(int *place) {
#pragma omp task depend(out : *place)
  *place = 1; // NORACE
#pragma omp task depend(inout : *place)
  *place += 2; // NORACE
}
int main(void) {
  int copy = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : first)
    first = 1; // NORACE
#pragma omp task depend(in : first) depend(out : second)
    second = first + 1; // NORACE
#pragma omp task depend(in : first) shared(copy)
    copy = first; // NORACE
#pragma omp task depend(in : second) depend(out : third)
    third = second + 1; // NORACE
    for (int i = 0; i < 10; i++) {
#pragma omp task depend(inout : sum)
      sum += i; // NORACE
#pragma omp task depend(mutexinoutset : either)
      either++; // NORACE
#pragma omp task depend(mutexinoutset : either)
      either--; // NORACE
    }
  }
#pragma omp parallel
#pragma omp master
  chain(&sum);
  return third + copy + sum + either;
}
