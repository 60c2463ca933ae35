// The same.
#include <pthread.h>
int x, more = 1;
void *work(void *_) {
  __atomic_load_n(&more, 5);
  __atomic_fetch_add(&x, 1, 5); // RACE!
  return 0;
}
int main(void) {
  pthread_t t[4];
again:
  for (int i = 0; i < 4; i++)
    pthread_create(&t[i], 0, work, 0);
  if (__atomic_fetch_sub(&more, 1, 5) > 0) goto again;
  for (int i = 0; i < 4; i++)
    pthread_join(t[i], 0);
  x = 1; // RACE!
  return 0;
}
