// Each thread calls the function that is in its own job.
#include <pthread.h>
struct job {
  void (*run)(void);
};
int x, y;
static void first(void) { x++; } // NORACE
static void second(void) { y++; } // NORACE
struct job one = {first}, other = {second};
void *work(void *argument) {
  struct job *job = argument;
  job->run();
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, work, &one);
  pthread_create(&u, 0, work, &other);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return x + y;
}
