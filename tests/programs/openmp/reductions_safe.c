// Reductions of several variables and of an array, with and without a barrier behind them.
// FLAGS: -fopenmp
double halves;
long sum, most, bins[8];
int main(void) {
#pragma omp parallel num_threads(4)
  {
#pragma omp for reduction(+ : sum, halves) reduction(max : most) nowait
    for (long i = 0; i < 100; i++) {
      sum += i;
      halves += i / 2.0;
      most = i > most ? i : most;
    }
#pragma omp for reduction(+ : bins[ : 8])
    for (int i = 0; i < 64; i++)
      bins[i % 8] += 1;
    if (sum + most + bins[3] < 0) // NORACE
      sum = 0;
  }
  return sum != 4950 || most != 99 || halves != 2475; // NORACE
}
