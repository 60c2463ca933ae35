// The lock is taken in the first round only and released in each.
#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  pthread_mutex_lock(&m);
  for (int i = 0; i < 3; i++) {
    x++; // RACE!
    pthread_mutex_unlock(&m);
  }
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
