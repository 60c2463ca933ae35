// Each process has memory of its own.
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static int *count;
static void add(void) {
  ++*count; // NORACE
}
int main(void) {
  count = mmap(0, sizeof *count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (count == MAP_FAILED)
    return 1;
  pid_t child = fork();
  add();
  if (child == 0)
    _exit(0);
  wait(0);
  printf("%d\n", *count); // NORACE
}
