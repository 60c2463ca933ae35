// merge sort: sorters start children while the pool has room; two ways to count use two locks.
#include "program.h"
enum { TOTAL = 5 };
static int alive = 1, spare;
static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER, self = PTHREAD_MUTEX_INITIALIZER;
static int available(void) {
  pthread_mutex_lock(&pool);
  int room = TOTAL - alive;
  pthread_mutex_unlock(&pool);
  return room;
}
static void grow(pthread_mutex_t *lock, int by) {
  pthread_mutex_lock(lock);
  alive = alive + by;
  pthread_mutex_unlock(lock);
}
static void *sorter(void *unused) {
  int room = available();
  if (room >= 2)
    grow(&pool, 2);
  else if (room == 1)
    grow(&self, 1);
  else
    spare = spare + 1;
  return unused;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    pthread_create(&threads[i], NULL, sorter, NULL);
    usleep(3000);
  }
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  printf("%d\n", alive);
  return 0;
}
