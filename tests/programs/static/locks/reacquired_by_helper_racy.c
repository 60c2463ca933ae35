// The helper gives the lock up and takes it again; the caller's unlock is the last one.
#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void breathe(void) {
  pthread_mutex_unlock(&m);
  pthread_mutex_lock(&m);
}
void *worker(void *unused) {
  pthread_mutex_lock(&m);
  breathe();
  pthread_mutex_unlock(&m);
  x++; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
