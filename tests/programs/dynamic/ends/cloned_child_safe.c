// Another thread counts all the time while children with memory of their own are made by clone; they count, too, and
// end by themselves.
#include "../program.h"
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#define CHILDREN 40
static long counter;
static int over;
void *count(void *_) {
  while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
    __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST); // NORACE
  return 0;
}
static int child(void *wanted) {
  for (int i = 0; i < 100; i++)
    __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
  char *block = malloc(100);
  block[0] = 1; // NORACE
  free(block);
  exit(wanted == &counter ? 0 : 1);
}
int main(void) {
  pthread_t counting = start(count, 0);
  static char stack[1 << 16] __attribute__((aligned(64)));
  for (int i = 0; i < CHILDREN; i++) {
    int id = clone(child, stack + sizeof stack, SIGCHLD, &counter), status = 1;
    if (id < 0 || waitpid(id, &status, 0) != id || status != 0)
      abort();
  }
  __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
  join(counting);
}
