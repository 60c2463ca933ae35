// flags: -fopenmp
int n;
int main(int argc, char **argv) {
  int r = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    n = 1; // RACE!
    if (argc > 1) {
#pragma omp taskwait
    }
    r = n; // RACE!
  }
  return r;
}
