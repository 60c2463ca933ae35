// The counter has something to read from the start.
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
int data, event;
void *sender(void *_) {
  data = 1; // RACE!
  eventfd_write(event, 1);
  return 0;
}
void *receiver(void *_) {
  eventfd_t count;
  if (read(event, &count, 8) != 8) return 0;
  data = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  event = eventfd(1, 0);
  pthread_create(&t, 0, sender, 0);
  pthread_create(&u, 0, receiver, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
