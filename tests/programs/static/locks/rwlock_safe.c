#include <pthread.h>
int x;
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
void *reader(void *unused) {
  pthread_rwlock_rdlock(&l);
  int seen = x; // NORACE
  pthread_rwlock_unlock(&l);
  return (void *)(long)seen;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, reader, 0);
  pthread_rwlock_wrlock(&l);
  x = 1; // NORACE
  pthread_rwlock_unlock(&l);
  return 0;
}
