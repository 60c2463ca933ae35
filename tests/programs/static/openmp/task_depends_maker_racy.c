// flags: -fopenmp
// Who makes a task goes on beside it; and another call may name another address.
int data, count;
static void make(int *place) {
#pragma omp task depend(out : *place)
  count++; // RACE!
}
int main(void) {
  int one, other;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : data)
    data = 1; // RACE!
    data = 2; // RACE!
    make(&one);
    make(&other);
  }
  return data + count;
}
