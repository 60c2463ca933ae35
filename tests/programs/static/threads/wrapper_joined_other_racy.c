// The wrong one of two handles is awaited.
#include <pthread.h>
static int data, other;
static pthread_t start(void *(*function)(void *)) {
  pthread_t thread;
  pthread_create(&thread, 0, function, 0);
  return thread;
}
static void await(pthread_t thread) { pthread_join(thread, 0); }
static void *first(void *unused) {
  data = 1; // NORACE
  return unused;
}
static void *second(void *unused) {
  other = 1; // RACE!
  return unused;
}
int main(void) {
  pthread_t a = start(first), b = start(second);
  await(a);
  int sum = data + other; // RACE!
  await(b);
  return sum;
}
