// flags: -fopenmp
int a[200];
int main(void) {
  int i;
#pragma omp parallel for
  for (i = 0; i < 100; i++)
    a[i] = a[i + 100]; // NORACE
  return a[2];
}
