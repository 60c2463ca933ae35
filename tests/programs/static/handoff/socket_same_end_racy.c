// What one sends does not come back to one.
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
int data, ends[2];
void *other(void *_) {
  (void)!write(ends[1], "z", 1);
  return 0;
}
void *sender(void *_) {
  data = 1; // RACE!
  (void)!write(ends[0], "x", 1);
  (void)!write(ends[1], "y", 1);
  return 0;
}
void *receiver(void *_) {
  char byte;
  if (read(ends[0], &byte, 1) == 1)
    data = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
  pthread_t v;
  pthread_create(&v, 0, other, 0);
  pthread_create(&t, 0, sender, 0);
  pthread_create(&u, 0, receiver, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
