// flags: -fopenmp
// There is no barrier in odd rounds.
#define N 100
double data[N];
int main(void) {
#pragma omp parallel
  for (int round = 0; round < 10; round++) {
#pragma omp for schedule(dynamic) nowait
    for (int i = 1; i < N - 1; i++) data[i] += round; // RACE!
    if (round % 2 == 0) {
#pragma omp barrier
    }
  }
  return (int)data[5];
}
