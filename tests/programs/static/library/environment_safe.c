// Threads that change the environment lock each other out, and it is read when they have ended.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *changer(void *name) {
  setenv(name, "1", 1); // NORACE
  return 0;
}
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, changer, "ONE");
  pthread_create(&two, 0, changer, "TWO");
  pthread_join(one, 0);
  pthread_join(two, 0);
  puts(getenv("ONE")); // NORACE
}
