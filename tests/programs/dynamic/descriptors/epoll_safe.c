// epoll_wait reports what another thread wrote.
#include "../program.h"
#include <sys/epoll.h>
int data, poll_fd, ends[2];
void *sender(void *_) {
  data = 1; // NORACE
  if (write(ends[1], "x", 1) != 1)
    abort();
  return 0;
}
void *receiver(void *_) {
  struct epoll_event event;
  while (epoll_wait(poll_fd, &event, 1, -1) != 1)
    ;
  char byte;
  if (read(event.data.fd, &byte, 1) == 1)
    data++; // NORACE
  return 0;
}
int main(void) {
  if (pipe(ends))
    return 1;
  poll_fd = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = ends[0]};
  epoll_ctl(poll_fd, EPOLL_CTL_ADD, ends[0], &event);
  both(sender, receiver);
}
