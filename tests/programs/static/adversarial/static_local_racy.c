#include <pthread.h>
static int next(void) {
  static int last;
  return ++last; // RACE!
}
void *worker(void *unused) { next(); return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  return next();
}
