#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int number;
FILE *digits;
void *one(void *arg) {
  fscanf(digits, "%d", &number); // RACE!
  return 0;
}
void *two(void *arg) {
  return (void *)(long)number; // RACE!
}
int main(void) {
  pthread_t a, b;
  digits = fmemopen("7", 1, "r");
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
