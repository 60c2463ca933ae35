// Threads of C11 in a program that has regions too.
// FLAGS: -fopenmp
#include <threads.h>
mtx_t lock;
int n;
static int add(void *argument) {
  (void)argument;
#pragma omp parallel num_threads(2)
  {
    mtx_lock(&lock);
    n++; // NORACE
    mtx_unlock(&lock);
  }
  return 0;
}
int main(void) {
  mtx_init(&lock, mtx_plain);
  thrd_t thread;
  thrd_create(&thread, add, 0);
  add(0);
  thrd_join(thread, 0);
  return n < 2; // NORACE
}
