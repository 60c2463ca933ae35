// The ordered part of a loop runs in the order of its rounds.
// FLAGS: -fopenmp
int list[64], used;
int main(void) {
#pragma omp parallel for ordered schedule(dynamic, 1) num_threads(3)
  for (int i = 0; i < 24; i++) {
#pragma omp ordered
    list[used++] = i; // NORACE
  }
  return used != 24; // NORACE
}
