// A file is mapped twice, and memory is shared with a child: each use comes after its mapping.
#include "../program.h"
#include <sys/mman.h>
#include <sys/wait.h>
char *view, *shared;
void *reader(void *_) {
  use(view[10]);  // NORACE
  use(shared[1]); // NORACE
  return 0;
}
int main(void) {
  FILE *file = tmpfile();
  if (!file || ftruncate(fileno(file), 4096) != 0)
    return 0;
  char *first = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  first[10] = 3; // NORACE
  munmap(first, 4096);
  view = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (fork() == 0) {
    shared[0] = 1; // NORACE
    _exit(0);
  }
  wait(NULL);
  both(reader, reader);
}
