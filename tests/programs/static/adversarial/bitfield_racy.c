// Two bit-fields of one word are one memory location.
#include <pthread.h>
struct flags { unsigned a : 1, b : 1; };
struct flags flags;
void *worker(void *unused) {
  flags.a = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  flags.b = 1; // RACE!
  return 0;
}
