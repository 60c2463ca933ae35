// flags: -fopenmp
// What the one member does is done by functions that it calls.
int data;
static void change(void) {
  data++; // NORACE
}
static void twice(void) {
  change();
}
int main(void) {
#pragma omp parallel
#pragma omp single
  twice();
  return data;
}
