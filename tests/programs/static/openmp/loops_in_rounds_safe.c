// flags: -fopenmp
#define N 100
double even[N], odd[N];
int main(void) {
#pragma omp parallel
  for (int round = 0; round < 10; round++) {
#pragma omp for
    for (int i = 1; i < N - 1; i++) odd[i] = (even[i - 1] + even[i + 1]) / 2; // NORACE
#pragma omp for schedule(dynamic)
    for (int i = 1; i < N - 1; i++) even[i] = odd[i]; // NORACE
  }
  return (int)even[5];
}
