// flags: -fopenmp
// Rows are shared out, and columns stay in their row: their number is a constant, wherever it is kept.
#include <stdlib.h>
enum { SIZE = 50 };
int columns = SIZE;
double global[SIZE][SIZE];
static void fill(int size, double matrix[SIZE][SIZE]) {
  int i, j;
#pragma omp parallel for private(j)
  for (i = 0; i < size; i++)
    for (j = 0; j < size; j++)
      matrix[i][j] = i + j; // NORACE
}
static void smooth(int size, double from[SIZE][SIZE], double to[SIZE][SIZE]) {
  int i, j;
  for (int round = 0; round < 10; round++) {
#pragma omp parallel for private(j)
    for (i = 1; i < size - 1; i++)
      for (j = 1; j < size - 1; j++)
        to[i][j] = from[i][j - 1] + from[i][j + 1]; // NORACE
#pragma omp parallel for private(j)
    for (i = 1; i < size - 1; i++)
      for (j = 1; j < size - 1; j++)
        from[i][j] = to[i][j]; // NORACE
  }
}
int main(void) {
  double(*own)[SIZE][SIZE] = malloc(sizeof *own);
  fill(SIZE, *own);
  smooth(SIZE, *own, global);
#pragma omp parallel for
  for (int i = 0; i < columns; i++)
    for (int j = 0; j < columns; j++)
      global[i][j] += 1; // NORACE
#pragma omp parallel for
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j <= i; j++)
      (*own)[i][j] = 0; // NORACE
  free(own);
}
