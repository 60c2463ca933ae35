// Two threads get the same slot: only the second is joined.
#include <pthread.h>
int x;
void *work(void *_) {
  __atomic_fetch_add(&x, 1, 5); // RACE!
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++)
      pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 4; i++)
    pthread_join(t[i], 0);
  x = 1; // RACE!
  return 0;
}
