// A comparison without sign lets the first value pass.
#include <pthread.h>
#include <stdatomic.h>
int data;
atomic_int flag;
void *sender(void *_) {
  atomic_store(&flag, -1);
  data = 1; // RACE!
  atomic_store(&flag, 1);
  return 0;
}
void *receiver(void *_) {
  if ((unsigned)atomic_load(&flag) > 0)
    data = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, sender, 0);
  pthread_create(&u, 0, receiver, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
