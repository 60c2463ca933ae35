#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char buffer[64];
FILE *zeros;
void *one(void *arg) {
  fread(buffer, 1, sizeof buffer, zeros); // RACE!
  return 0;
}
void *two(void *arg) {
  return (void *)(long)buffer[5]; // RACE!
}
int main(void) {
  pthread_t a, b;
  zeros = fopen("/dev/zero", "r");
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
