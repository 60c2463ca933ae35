// flags: -fopenmp
int a[200];
int main(void) {
  int i;
#pragma omp parallel for
  for (i = 0; i < 100; i++)
    a[i] = a[i + 99]; // RACE!
  return a[2];
}
