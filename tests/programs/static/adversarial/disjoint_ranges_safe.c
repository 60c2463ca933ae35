#include <pthread.h>
#include <string.h>
char buffer[64];
void *worker(void *text) {
  memset(buffer, 0, 32); // NORACE
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  memset(buffer + 32, 0, 32); // NORACE
  return 0;
}
