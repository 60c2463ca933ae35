// flags: -fopenmp
// Every member runs its own at once, and the other may be deferred.
int data, sometimes;
int main(int argc, char **argv) {
#pragma omp parallel
  {
#pragma omp task shared(data) if (0)
    data++; // RACE!
#pragma omp single
    {
#pragma omp task shared(sometimes) if (argc > 1)
      sometimes++; // RACE!
      sometimes--; // RACE!
    }
  }
  return data + sometimes;
}
