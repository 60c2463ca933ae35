// flags: -fopenmp
// What was kept of the last round is behind it, where the next member begins.
int kept[200];
int main(void) {
#pragma omp parallel
  {
    int next = 0;
#pragma omp for
    for (int i = 0; i < 100; i++) {
      kept[next]++; // RACE!
      next = i + 1;
    }
  }
  return kept[0];
}
