#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void down(int n) {
  if (n == 0) {
    x++; // NORACE
    return;
  }
  down(n - 1);
}
void *worker(void *unused) {
  pthread_mutex_lock(&m);
  down(5);
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
