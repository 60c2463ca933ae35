// Three hundred threads at once, all under one lock.
#include "../program.h"
enum { N = 300 };
int total;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *work(void *_) {
  done();
  step(N);
  pthread_mutex_lock(&lock);
  total++; // NORACE
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < N; i++)
    threads[i] = start(work, NULL);
  for (int i = 0; i < N; i++)
    join(threads[i]);
  use(total); // NORACE
}
