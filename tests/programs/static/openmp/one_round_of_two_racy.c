// flags: -fopenmp
// The rounds of two loops without a barrier between them may be two members'.
int data;
int main(void) {
#pragma omp parallel
  {
#pragma omp for nowait
    for (int i = 0; i < 100; i++)
      if (i == 7)
        data++; // RACE!
#pragma omp for
    for (int i = 0; i < 100; i++)
      if (i == 7)
        data++; // RACE!
  }
  return data;
}
