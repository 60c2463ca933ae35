// A message through a socket and its answer.
#include "../program.h"
#include <sys/socket.h>
int data, ends[2];
void *client(void *_) {
  char byte = 'x';
  data = 1; // NORACE
  send(ends[0], &byte, 1, 0);
  recv(ends[0], &byte, 1, 0);
  data++; // NORACE
  return 0;
}
void *server(void *_) {
  char byte;
  recv(ends[1], &byte, 1, 0);
  data++; // NORACE
  send(ends[1], &byte, 1, 0);
  return 0;
}
int main(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
    return 1;
  both(client, server);
}
