// One handle is spread over the array, then the next.
#include <pthread.h>
int x;
void *work(void *_) {
  __atomic_fetch_add(&x, 1, 5); // RACE!
  return 0;
}
static pthread_t start(void) {
  pthread_t t;
  if (pthread_create(&t, 0, work, 0)) __builtin_abort();
  return t;
}
static void join(pthread_t t) { pthread_join(t, 0); }
int main(void) {
  pthread_t t[4];
  for (int r = 0; r < 4; r++) {
    pthread_t one = start();
    for (int i = 0; i < 4; i++)
      t[i] = one;
  }
  for (int i = 0; i < 4; i++)
    join(t[i]);
  x = 1; // RACE!
  return 0;
}
