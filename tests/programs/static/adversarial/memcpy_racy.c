#include <pthread.h>
#include <string.h>
char buffer[64];
void *worker(void *text) {
  memcpy(buffer, "hello", 6); // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  return buffer[3]; // RACE!
}
