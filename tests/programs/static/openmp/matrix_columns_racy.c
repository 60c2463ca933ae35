// flags: -fopenmp
// One column too many is the next row's first; so is one whose number is not known, or changes.
#include <stdio.h>
enum { SIZE = 50 };
int read_in = SIZE;
double wide[SIZE][SIZE], other[SIZE][SIZE], more[SIZE][SIZE], back[SIZE][SIZE];
static void fill(int rows, int columns) {
#pragma omp parallel for
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++)
      wide[i][j] = i + j; // RACE!
}
int main(void) {
  fill(SIZE, SIZE);
  fill(SIZE - 1, SIZE + 1);
  if (scanf("%d", &read_in) != 1)
    return 1;
#pragma omp parallel for
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < read_in; j++)
      other[i][j] = i + j; // RACE!
  int columns = SIZE;
  if (read_in > 3)
    columns = SIZE + 1;
#pragma omp parallel for
  for (int i = 0; i < SIZE - 1; i++)
    for (int j = 0; j < columns; j++)
      more[i][j] = i + j; // RACE!
#pragma omp parallel for
  for (int i = 1; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++)
      back[i][j] = back[i][j - 1]; // RACE!
}
