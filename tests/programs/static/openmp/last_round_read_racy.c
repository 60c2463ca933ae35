// flags: -fopenmp
int main(void) {
  int i, x = 0, y[100];
#pragma omp parallel shared(x, y)
  {
    int *p = &x;
    y[1] = *p; // RACE!
#pragma omp for lastprivate(x)
    for (i = 0; i < 100; i++)
      x = i;
  }
  return x + y[1];
}
