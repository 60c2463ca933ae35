// One handle is not kept: in its place is that of a thread which does nothing.
#include <pthread.h>
int skip = 1;
int x;
void *work(void *_) {
  __atomic_fetch_add(&x, 1, 5); // RACE!
  return 0;
}
void *idle(void *_) { return 0; }
static pthread_t start(void) {
  pthread_t t;
  if (pthread_create(&t, 0, work, 0)) __builtin_abort();
  return t;
}
static void join(pthread_t t) { pthread_join(t, 0); }
int main(void) {
  pthread_t t[4];
  pthread_create(&t[1], 0, idle, 0);
  for (int i = 0; i < 4; i++) {
    pthread_t one = start();
    if (skip != i)
      t[i] = one;
  }
  for (int i = 0; i < 4; i++)
    join(t[i]);
  x = 1; // RACE!
  return 0;
}
