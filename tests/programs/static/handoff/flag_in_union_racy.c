#include <pthread.h>
#include <stdatomic.h>
union { atomic_int whole; char part[4]; } flag;
int data;
void *writer(void *arg) {
  flag.part[0] = 1;
  data = 1; // RACE!
  atomic_store(&flag.whole, 1);
  return 0;
}
void *reader(void *arg) {
  if (atomic_load(&flag.whole) == 1) data++; // RACE!
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
