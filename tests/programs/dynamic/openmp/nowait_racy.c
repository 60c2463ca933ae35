// Without the barrier at its end, single races with what follows.
// FLAGS: -fopenmp
#include "../program.h"
int ready;
int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp single nowait
    {
      ready = 1; // RACE!
      done();
    }
    step(1);
    use(ready); // RACE!
  }
}
