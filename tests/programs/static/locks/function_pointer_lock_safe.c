// The lock is taken through a table of functions.
#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void take(void) { pthread_mutex_lock(&m); }
static void drop(void) { pthread_mutex_unlock(&m); }
struct ops { void (*take)(void); void (*drop)(void); };
struct ops ops = {take, drop};
void *worker(void *unused) {
  ops.take();
  x++; // NORACE
  ops.drop();
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
