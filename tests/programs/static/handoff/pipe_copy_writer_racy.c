// Another thread writes through a copy of the descriptor.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int data, ends[2];
int copy;
void *other(void *_) {
  (void)!write(copy, "y", 1);
  return 0;
}
void *sender(void *_) {
  data = 1; // RACE!
  if (write(ends[1], "x", 1) != 1) abort();
  return 0;
}
void *receiver(void *_) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  data = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  if (pipe(ends)) return 1;
  copy = dup(ends[1]);
  pthread_t v;
  pthread_create(&v, 0, other, 0);
  pthread_create(&t, 0, sender, 0);
  pthread_create(&u, 0, receiver, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
