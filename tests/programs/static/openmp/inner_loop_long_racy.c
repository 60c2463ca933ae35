// flags: -fopenmp
#define N 50
double c[N * N + 1];
int main(void) {
  int i, j;
#pragma omp parallel for private(j)
  for (i = 0; i < N; i++)
    for (j = 0; j <= N; j++)
      c[i * N + j] += 1; // RACE!
  return c[1];
}
