// Each round waits for the one before it.
// FLAGS: -fopenmp
int line[40] = {1};
int main(void) {
#pragma omp parallel for ordered(1) num_threads(3) schedule(static, 1)
  for (int i = 1; i < 40; i++) {
#pragma omp ordered depend(sink : i - 1)
    line[i] = line[i - 1] + 1; // NORACE
#pragma omp ordered depend(source)
  }
  return line[39] != 40; // NORACE
}
