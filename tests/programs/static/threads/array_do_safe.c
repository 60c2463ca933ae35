// Loops that end with the test.
#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *work(void *arg) {
  pthread_mutex_lock(&m);
  x++; // NORACE
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t[5];
  int i = 0;
  do
    pthread_create(&t[i], 0, work, 0);
  while (++i < 5);
  i = 0;
  do
    pthread_join(t[i], 0);
  while (++i < 5);
  x = 1; // NORACE
  return 0;
}
