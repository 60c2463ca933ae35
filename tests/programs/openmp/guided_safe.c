// Chunks of a loop by whoever asks, one region after the other.
// FLAGS: -fopenmp
int values[200];
int main(void) {
#pragma omp parallel num_threads(3)
  {
#pragma omp for schedule(guided)
    for (int i = 0; i < 200; i++)
      values[i] = i; // NORACE
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < 200; i++)
      values[199 - i]++; // NORACE
  }
  int sum = 0;
#pragma omp parallel for num_threads(3) reduction(+ : sum) schedule(dynamic)
  for (int i = 0; i < 200; i++)
    sum += values[i]; // NORACE
  return sum != 20100;
}
