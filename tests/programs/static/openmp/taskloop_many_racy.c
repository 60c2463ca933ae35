// flags: -fopenmp
int n;
int main(void) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop
  for (int i = 0; i < 8; i++)
    n = i; // RACE!
  return n;
}
