// A mutex is destroyed and another made at the same address, by one thread between joins.
#include "../program.h"
int value;
pthread_mutex_t lock;
void *work(void *_) {
  pthread_mutex_lock(&lock);
  value++; // NORACE
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  for (int round = 0; round < 3; round++) {
    pthread_mutex_init(&lock, NULL);
    both(work, work);
    pthread_mutex_destroy(&lock);
  }
}
