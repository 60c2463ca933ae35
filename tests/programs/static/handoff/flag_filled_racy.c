#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
atomic_int flag;
int data;
void *writer(void *arg) {
  memset((void *)&flag, 1, sizeof flag);
  data = 1; // RACE!
  atomic_store(&flag, 0x01010101);
  return 0;
}
void *reader(void *arg) {
  if (atomic_load(&flag) == 0x01010101) data++; // RACE!
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
