// Both may draw the same number, and both go on with it.
#include <pthread.h>
#include <stdatomic.h>
atomic_int number0, number1;
atomic_int entering0, entering1;
int data;
static void *first(void *argument) {
  atomic_store(&entering0, 1);
  int highest = atomic_load(&number1);
  atomic_store(&number0, highest + 1);
  atomic_store(&entering0, 0);
  while (atomic_load(&entering1))
    ;
  while (1) {
    int other = atomic_load(&number1);
    if (other == 0 || other >= atomic_load(&number0)) break;
  }
  data++; // RACE!
  atomic_store(&number0, 0);
  return 0;
}
static void *second(void *argument) {
  atomic_store(&entering1, 1);
  int highest = atomic_load(&number0);
  atomic_store(&number1, highest + 1);
  atomic_store(&entering1, 0);
  while (atomic_load(&entering0))
    ;
  while (1) {
    int other = atomic_load(&number0);
    if (other == 0 || other >= atomic_load(&number1)) break;
  }
  data++; // RACE!
  atomic_store(&number1, 0);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data;
}
