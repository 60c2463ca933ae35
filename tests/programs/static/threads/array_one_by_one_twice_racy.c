// One is waited for twice, and one not at all.
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
  pthread_t t[3];
  for (int i = 0; i < 3; i++)
    pthread_create(&t[i], 0, work, 0);
  pthread_join(t[0], 0);
  pthread_join(t[2], 0);
  pthread_join(t[2], 0);
  x = 1; // RACE!
  return 0;
}
