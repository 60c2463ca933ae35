// One function through the same wrapper twice.
#include <pthread.h>
static int data;
static pthread_t start(void *(*function)(void *)) {
  pthread_t thread;
  pthread_create(&thread, 0, function, 0);
  return thread;
}
static void *worker(void *unused) {
  data++; // RACE!
  return unused;
}
int main(void) {
  pthread_t a = start(worker), b = start(worker);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data; // NORACE
}
