#include <pthread.h>
#include <stdio.h>
#include <string.h>
char buffer[64];
void *worker(void *text) {
  strcpy(buffer, "hello"); // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  printf("%s %zu\n", buffer, strlen(buffer)); // RACE!
  return 0;
}
