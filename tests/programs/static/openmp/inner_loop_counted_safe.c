// flags: -fopenmp
double b[100][100];
int main(void) {
  int i, j, n = 100, m = 100;
#pragma omp parallel for private(j)
  for (i = 0; i < n; i++)
    for (j = 1; j < m; j++)
      b[i][j] = b[i][j - 1]; // NORACE
  return b[1][1];
}
