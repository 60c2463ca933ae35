// Both jobs may hold the same function by the time that they are run.
#include <pthread.h>
struct job {
  void (*run)(void);
};
int x, y;
static void first(void) { x++; } // RACE!
static void second(void) { y++; }
struct job one = {first}, other = {second};
void *work(void *argument) {
  struct job *job = argument;
  job->run();
  return 0;
}
int main(int count, char **arguments) {
  if (count > 1) other = one;
  pthread_t t, u;
  pthread_create(&t, 0, work, &one);
  pthread_create(&u, 0, work, &other);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return x + y;
}
