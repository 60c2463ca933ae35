// flags: -fopenmp
#define N 50
double a[N][N], b[N][N], c[N][N];
int main(void) {
  int i, j, k;
#pragma omp parallel for private(j, k)
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++)
      for (k = 0; k < N; k++)
        c[i][j] += a[i][k] * b[k][j]; // NORACE
  return c[1][1];
}
