// flags: -fopenmp
// Tasks that only read what they name, name other addresses, are of one set, or are made by two members.
int token, other, read, set, apart, members, elements[10], shared;
int main(void) {
#pragma omp parallel
  {
#pragma omp single nowait
    {
#pragma omp task depend(in : token)
      read = 1; // RACE!
#pragma omp task depend(in : token)
      read = 2; // RACE!
#pragma omp task depend(inoutset : set)
      set++; // RACE!
#pragma omp task depend(inoutset : set)
      set++; // RACE!
#pragma omp task depend(out : token)
      apart = 1; // RACE!
#pragma omp task depend(out : other)
      apart = 2; // RACE!
      for (int i = 0; i < 10; i++) {
#pragma omp task depend(inout : elements[i])
        shared++; // RACE!
      }
    }
#pragma omp task depend(out : members)
    members++; // RACE!
  }
  return read + set + apart + members + shared;
}
