// The pipe may be closed and the result is not looked at.
#include <pthread.h>
#include <unistd.h>
int data, ends[2];
void *sender(void *_) {
  close(ends[1]);
  data = 1; // RACE!
  return 0;
}
void *receiver(void *_) {
  char byte;
  (void)!read(ends[0], &byte, 1);
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
