// The test stands behind the call: one more is created than the number says.
#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *work(void *arg) {
  pthread_mutex_lock(&m);
  x++; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t[5];
  int i = 0;
again:
  pthread_create(&t[i], 0, work, 0);
  if (i++ < 4)
    goto again;
  for (int j = 0; j < 4; j++)
    pthread_join(t[j], 0);
  x = 1; // RACE!
  return 0;
}
