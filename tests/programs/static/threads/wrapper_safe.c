// Functions of the program's own start and await threads; handles go by value.
#include <pthread.h>
#include <stdlib.h>
static int data, other;
static pthread_t start(void *(*function)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, 0, function, argument)) abort();
  return thread;
}
static void await(pthread_t thread) { pthread_join(thread, 0); }
static void *first(void *unused) {
  data = 1; // NORACE
  return unused;
}
static void *second(void *unused) {
  other = 1; // NORACE
  return unused;
}
int main(void) {
  pthread_t a = start(first, 0), b = start(second, 0);
  await(a);
  data++; // NORACE
  pthread_join(b, 0);
  return data + other; // NORACE
}
