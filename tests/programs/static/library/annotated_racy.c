// A barrier that nobody is to see orders nothing.
#include <pthread.h>
void __tsan_testonly_barrier_init(unsigned *barrier, unsigned count);
void __tsan_testonly_barrier_wait(unsigned *barrier);
unsigned barrier;
int data;
void *worker(void *arg) {
  data = 1; // RACE!
  __tsan_testonly_barrier_wait(&barrier);
  return arg;
}
int main(void) {
  pthread_t thread;
  __tsan_testonly_barrier_init(&barrier, 2);
  pthread_create(&thread, 0, worker, 0);
  __tsan_testonly_barrier_wait(&barrier);
  data = 2; // RACE!
  pthread_join(thread, 0);
  return data;
}
