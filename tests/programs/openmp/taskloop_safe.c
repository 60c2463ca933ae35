// A loop whose rounds are tasks; it waits for them.
// FLAGS: -fopenmp
int squares[32];
int main(void) {
  int sum = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
  {
#pragma omp taskloop grainsize(4)
    for (int i = 0; i < 32; i++)
      squares[i] = i * i; // NORACE
    for (int i = 0; i < 32; i++)
      sum += squares[i]; // NORACE
  }
  return sum != 10416; // NORACE
}
