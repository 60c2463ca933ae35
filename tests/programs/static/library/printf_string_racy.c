#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char name[16] = "abcdefgh";
void *one(void *arg) {
  printf("%s\n", name); // RACE!
  return 0;
}
void *two(void *arg) {
  name[3] = 'x'; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
