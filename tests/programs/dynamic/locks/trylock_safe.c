// Touched only when trylock succeeds.
#include "../program.h"
int value, failures[2];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *work(void *index) {
  for (int i = 0; i < 200; i++) {
    if (pthread_mutex_trylock(&lock) == 0) {
      value++; // NORACE
      pthread_mutex_unlock(&lock);
    } else {
      failures[(long)index]++; // NORACE
    }
  }
  return 0;
}
int main(void) {
  pthread_t a = start(work, (void *)0), b = start(work, (void *)1);
  join(a);
  join(b);
}
