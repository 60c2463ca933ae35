#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char text[32] = "12 34";
void *one(void *arg) {
  return strtok(text, " "); // RACE!
}
void *two(void *arg) {
  char *end;
  return (void *)strtol(text, &end, 10); // RACE!
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
