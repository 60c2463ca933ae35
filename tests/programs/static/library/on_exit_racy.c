// What runs at the end of the program gets its argument behind the status, and does not wait for threads.
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdlib.h>
static int count;
static void last(int status, void *argument) {
  int *counter = argument;
  *counter += status; // RACE!
}
static void *worker(void *_) {
  count++; // RACE!
  return 0;
}
int main(void) {
  pthread_t thread;
  on_exit(last, &count);
  pthread_create(&thread, 0, worker, 0);
}
