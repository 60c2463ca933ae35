// The destructor of a thread-specific key runs before the join returns.
#include "../program.h"
int value;
pthread_key_t key;
void destroy(void *_) { value++; } // NORACE
void *work(void *_) {
  pthread_setspecific(key, &value);
  value++; // NORACE
  return 0;
}
int main(void) {
  pthread_key_create(&key, destroy);
  join(start(work, NULL));
  use(value); // NORACE
}
