// The descriptor is made to mean another file.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int data, ends[2];
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
  dup2(open("/dev/zero", O_RDONLY), ends[0]);
  pthread_create(&t, 0, sender, 0);
  pthread_create(&u, 0, receiver, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
