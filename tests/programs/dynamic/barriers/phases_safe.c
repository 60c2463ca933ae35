// Each thread writes its cell, then reads its neighbour's.
#include "../program.h"
enum { N = 4 };
int cells[N];
pthread_barrier_t barrier;
void *work(void *argument) {
  long me = (long)argument;
  for (int round = 0; round < 10; round++) {
    cells[me] = round; // NORACE
    pthread_barrier_wait(&barrier);
    use(cells[(me + 1) % N]); // NORACE
    pthread_barrier_wait(&barrier);
  }
  return 0;
}
int main(void) {
  pthread_t threads[N];
  pthread_barrier_init(&barrier, NULL, N);
  for (long i = 0; i < N; i++)
    threads[i] = start(work, (void *)i);
  for (int i = 0; i < N; i++)
    join(threads[i]);
  pthread_barrier_destroy(&barrier);
}
