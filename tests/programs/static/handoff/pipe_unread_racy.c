// Only a failure is looked for, and an end of the pipe is closed.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int data, ends[2];
void *sender(void *_) {
  close(ends[1]);
  data = 1; // RACE!
  return 0;
}
void *receiver(void *_) {
  char byte;
  if (read(ends[0], &byte, 1) < 0) abort();
  data = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  if (pipe(ends)) return 1;
  pthread_create(&t, 0, sender, 0);
  pthread_create(&u, 0, receiver, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
