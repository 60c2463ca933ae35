#include <pthread.h>
#include <stdatomic.h>
atomic_int flag;
int data;
static void tell(int n) {
  data++; // RACE!
  atomic_store(&flag, 1);
  if (n) tell(n - 1);
}
void *writer(void *arg) {
  tell(2);
  return 0;
}
void *reader(void *arg) {
  while (atomic_load(&flag) != 1) ;
  data++; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data;
}
