// The pointer that is registered with an event comes out again wherever somebody waits.
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
struct connection { int requests; };
int queue;
void *serve(void *arg) {
  struct epoll_event events[4];
  int count = epoll_wait(queue, events, 4, -1);
  for (int i = 0; i < count; i++) {
    struct connection *connection = events[i].data.ptr;
    connection->requests++; // RACE!
  }
  return 0;
}
int main(void) {
  pthread_t a, b;
  struct connection *connection = calloc(1, sizeof *connection);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  queue = epoll_create1(0);
  epoll_ctl(queue, EPOLL_CTL_ADD, 0, &event);
  pthread_create(&a, 0, serve, 0);
  pthread_create(&b, 0, serve, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
