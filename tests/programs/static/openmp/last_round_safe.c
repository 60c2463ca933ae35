// flags: -fopenmp
int main(void) {
  int i, x = 0;
#pragma omp parallel for lastprivate(x) // NORACE
  for (i = 0; i < 100; i++)
    x = i; // NORACE
  return x;
}
