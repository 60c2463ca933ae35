// Whoever gets the pointer out locks what it leads to.
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
struct connection { pthread_mutex_t lock; int requests; };
int queue;
void *serve(void *arg) {
  struct epoll_event events[4];
  int count = epoll_wait(queue, events, 4, -1);
  for (int i = 0; i < count; i++) {
    struct connection *connection = events[i].data.ptr;
    pthread_mutex_lock(&connection->lock);
    connection->requests++; // NORACE
    pthread_mutex_unlock(&connection->lock);
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
