// The handle is kept before the thread is made.
#include <pthread.h>
int x;
void *work(void *_) {
  __atomic_fetch_add(&x, 1, 5); // RACE!
  return 0;
}
int main(void) {
  pthread_t t[4];
  pthread_t one = 0;
  for (int i = 0; i < 4; i++) {
    t[i] = one;
    pthread_create(&one, 0, work, 0);
  }
  for (int i = 0; i < 4; i++)
    pthread_join(t[i], 0);
  x = 1; // RACE!
  return 0;
}
