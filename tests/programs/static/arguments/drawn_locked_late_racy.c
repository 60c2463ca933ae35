#include <pthread.h>
#include <stdatomic.h>
int part[64];
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
int next;
void *worker(void *arg) {
  pthread_mutex_lock(&m);
  int own = next;
  pthread_mutex_unlock(&m);
  part[own] = own; // RACE!
  pthread_mutex_lock(&m);
  next++;
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  return part[3];
}
