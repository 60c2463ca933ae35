#include <errno.h>
#include <pthread.h>
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int data, cached;
static int work(void) {
  int result = pthread_mutex_trylock(&mutex);
  if (result == EBUSY) return -1;
  data++; // NORACE
  pthread_mutex_unlock(&mutex);
  return 0;
}
static void *worker(void *argument) {
  while (work() != 0)
    ;
  if (EBUSY != pthread_rwlock_trywrlock(&lock)) {
    cached++; // NORACE
    pthread_rwlock_unlock(&lock);
  }
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data + cached;
}
