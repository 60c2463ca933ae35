// The thread has ended before what runs at the end of the program does.
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdlib.h>
static int count;
static void last(int status, void *argument) {
  int *counter = argument;
  *counter += status; // NORACE
}
static void *worker(void *_) {
  count++; // NORACE
  return 0;
}
int main(void) {
  pthread_t thread;
  on_exit(last, &count);
  pthread_create(&thread, 0, worker, 0);
  pthread_join(thread, 0);
}
