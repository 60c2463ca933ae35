// Who takes the token by compare-and-exchange comes after the one who put it there.
#include <pthread.h>
#include <stdatomic.h>
int data;
atomic_int flag;
void *sender(void *_) {
  data = 1; // NORACE
  atomic_store(&flag, 1);
  return 0;
}
void *receiver(void *_) {
  int token = 1;
  if (atomic_compare_exchange_strong(&flag, &token, 2))
    data = 2; // NORACE
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
