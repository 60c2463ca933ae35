// flags: -fopenmp
double b[10001];
int main(int argc, char **argv) {
  int i, j, n = 100, m = 100;
  if (argc > 1) m = 101;
#pragma omp parallel for private(j)
  for (i = 0; i < n; i++)
    for (j = 1; j < m; j++)
      b[i * 100 + j] = b[i * 100 + j - 1]; // RACE!
  return b[1];
}
