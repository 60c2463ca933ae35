// Who waits for an epoll comes after what was written to the eventfd that it tells of, and need not read it.
#include "../program.h"
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
int counter, data;
void *teller(void *_) {
  uint64_t one = 1;
  data = 1; // NORACE
  if (write(counter, &one, sizeof one) != sizeof one) // NORACE
    abort();
  return 0;
}
int main(void) {
  int poll = epoll_create1(0);
  counter = eventfd(0, 0);
  struct epoll_event wanted = {.events = EPOLLIN}, event;
  epoll_ctl(poll, EPOLL_CTL_ADD, counter, &wanted);
  pthread_t thread = start(teller, 0);
  if (epoll_wait(poll, &event, 1, -1) != 1)
    abort();
  use(data);      // NORACE
  close(counter); // NORACE
  join(thread);
  close(poll);
}
