// Each round starts a thread, and only the last one is awaited.
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
  pthread_t last = start(worker);
  for (int i = 0; i < 3; i++) last = start(worker);
  pthread_join(last, 0);
  return data; // RACE!
}
