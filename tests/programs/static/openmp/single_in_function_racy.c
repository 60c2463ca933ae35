// flags: -fopenmp
// The function is called by every member, too.
int data;
static void change(void) {
  data++; // RACE!
}
int main(void) {
#pragma omp parallel
  {
#pragma omp single nowait
    change();
    change();
  }
  return data;
}
