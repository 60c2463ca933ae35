// flags: -fopenmp
// Who is done goes on to the next round, and gets other numbers there.
#define N 100
double data[N];
int main(void) {
#pragma omp parallel
  for (int round = 0; round < 10; round++) {
#pragma omp for schedule(dynamic) nowait
    for (int i = 1; i < N - 1; i++) data[i] += round; // RACE!
  }
  return (int)data[5];
}
