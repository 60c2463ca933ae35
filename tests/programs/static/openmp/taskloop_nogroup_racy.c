// flags: -fopenmp
int n[8];
int main(void) {
  int r = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskloop nogroup
    for (int i = 0; i < 8; i++)
      n[i] = i; // RACE!
    r = n[3]; // RACE!
  }
  return r;
}
