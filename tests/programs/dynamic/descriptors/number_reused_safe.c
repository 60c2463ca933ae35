// Two threads open and close in turn; the kernel hands out the same number again and again.
#include "../program.h"
#include <fcntl.h>
void *worker(void *_) {
  for (int i = 0; i < 200; i++) {
    int file = open("/dev/zero", O_RDONLY);
    char byte;
    if (read(file, &byte, 1) != 1) // NORACE
      abort();
    close(file); // NORACE
  }
  return 0;
}
int main(void) { both(worker, worker); }
