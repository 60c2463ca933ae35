// A process that fork makes writes to memory that it shares with this one. It is not followed, and a note says so.
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static int *count;
static void add(void) {
  ++*count; // RACE! miss(static): what other processes do is not followed
}
int main(void) {
  count = mmap(0, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (count == MAP_FAILED)
    return 1;
  pid_t child = fork();
  add();
  if (child == 0)
    _exit(0);
  wait(0);
  printf("%d\n", *count);
}
