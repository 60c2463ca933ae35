// Two readers hold the lock at once; one of them writes.
#include <pthread.h>
int x;
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
void *reader(void *unused) {
  pthread_rwlock_rdlock(&l);
  int seen = x; // RACE!
  pthread_rwlock_unlock(&l);
  return (void *)(long)seen;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, reader, 0);
  pthread_rwlock_rdlock(&l);
  x = 1; // RACE!
  pthread_rwlock_unlock(&l);
  return 0;
}
