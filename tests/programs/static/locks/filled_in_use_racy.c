// A lock that is cleared while another thread uses it is another lock.
#include <pthread.h>
#include <string.h>
pthread_mutex_t m;
int x;
void *worker(void *arg) {
  pthread_mutex_lock(&m); // RACE!
  x++;
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_mutex_init(&m, 0);
  pthread_create(&a, 0, worker, 0);
  memset(&m, 0, sizeof m); // RACE!
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return x;
}
