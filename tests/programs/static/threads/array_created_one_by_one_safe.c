// Created one by one, waited for by a loop.
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
  pthread_t t[3];
  pthread_create(&t[0], 0, work, 0);
  pthread_create(&t[1], 0, work, 0);
  pthread_create(&t[2], 0, work, 0);
  for (int i = 0; i < 3; i++)
    pthread_join(t[i], 0);
  x = 1; // NORACE
  return 0;
}
