#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char text[32] = "fixed";
void *one(void *arg) {
  char *copy = strdup(text); // NORACE
  if (copy) copy[0] = 'y';   // NORACE
  free(copy);
  return 0;
}
void *two(void *arg) {
  return (void *)(long)strcmp(text, "fixed"); // NORACE
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
