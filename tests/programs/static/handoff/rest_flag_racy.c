// Two values leave the same rest.
#include <pthread.h>
#include <stdatomic.h>
int data;
atomic_int flag;
void *sender(void *_) {
  atomic_store(&flag, 3);
  data = 1; // RACE!
  atomic_store(&flag, 8);
  return 0;
}
void *receiver(void *_) {
  if (atomic_load(&flag) % 5 == 3)
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
