// The same downwards.
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
  int i = 4;
again:
  pthread_create(&t[i], 0, work, 0);
  if (i-- > 0)
    goto again;
  for (int j = 1; j < 5; j++)
    pthread_join(t[j], 0);
  x = 1; // RACE!
  return 0;
}
