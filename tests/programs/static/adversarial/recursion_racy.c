#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void down(int n) {
  if (n == 0) {
    x++; // RACE!
    return;
  }
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  down(n - 1);
}
void *worker(void *unused) { down(5); return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
