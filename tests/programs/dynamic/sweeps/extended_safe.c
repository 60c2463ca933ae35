// Two numbers of ten bytes, one for each thread, and a third under a lock.
// FLAGS: -O1
#include "../program.h"
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long double first, second, total;
void add(long double amount) {
  pthread_mutex_lock(&lock);
  total += amount; // NORACE
  pthread_mutex_unlock(&lock);
}
void *one(void *_) {
  first += 1.5L; // NORACE
  add(first);
  return 0;
}
void *other(void *_) {
  second += 2.5L; // NORACE
  add(second);
  return 0;
}
int main(void) { both(one, other); }
