// Children of a fork beside working threads: each has a copy of the memory, and nobody else to share it with.
#include "../program.h"
#include <sys/wait.h>
static int numbers[20000];
static _Atomic int stop;
static void *works(void *first) {
  while (!stop)
    for (long i = (long)first; i < 20000; i += 2) numbers[i]++; // NORACE
  return 0;
}
int main(void) {
  pthread_t one, other;
  pthread_create(&one, 0, works, (void *)0L);
  pthread_create(&other, 0, works, (void *)1L);
  for (int round = 0; round < 10; round++) {
    pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 20000; i++) numbers[i] = round; // NORACE
      _exit(0);
    }
    waitpid(child, 0, 0);
  }
  stop = 1;
  pthread_join(one, 0);
  pthread_join(other, 0);
}
