// flags: -fopenmp
// What a task's own task does is over neither with the task nor before the one that depends on it.
int data;
int main(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : data)
    {
#pragma omp task
      data = 1; // RACE!
    }
#pragma omp task depend(in : data)
    data = 2; // RACE!
  }
  return data;
}
