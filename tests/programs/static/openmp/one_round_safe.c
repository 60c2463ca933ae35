// flags: -fopenmp
// One round of a shared loop is made by one member.
int data;
int main(void) {
#pragma omp parallel for
  for (int i = 0; i < 100; i++)
    if (i == 7)
      data++; // NORACE
  return data;
}
