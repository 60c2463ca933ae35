// The last one is not waited for.
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
  do
    pthread_create(&t[i], 0, work, 0);
  while (i++ < 4);
  i = 0;
  do
    pthread_join(t[i], 0);
  while (++i < 4);
  x = 1; // RACE!
  return 0;
}
