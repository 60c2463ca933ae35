// Handles are moved within the array before they are joined.
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
  for (int i = 0; i < 4; i++)
    t[i] = start();
  t[0] = t[1];
  for (int i = 0; i < 4; i++)
    join(t[i]);
  x = 1; // RACE!
  return 0;
}
