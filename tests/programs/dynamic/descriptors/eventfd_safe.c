// An eventfd wakes the reader.
#include "../program.h"
#include <stdint.h>
#include <sys/eventfd.h>
int data, event;
void *sender(void *_) {
  uint64_t one = 1;
  data = 1; // NORACE
  if (write(event, &one, sizeof one) != sizeof one)
    abort();
  return 0;
}
void *receiver(void *_) {
  uint64_t count;
  if (read(event, &count, sizeof count) != sizeof count)
    abort();
  data++; // NORACE
  return 0;
}
int main(void) {
  event = eventfd(0, 0);
  both(sender, receiver);
}
