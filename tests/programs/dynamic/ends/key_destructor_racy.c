// The destructor of a thread-specific key is part of its thread.
#include "../program.h"
int value;
pthread_key_t key;
void destroy(void *_) {
  value = 1; // RACE!
  done();
}
void *first(void *_) {
  pthread_setspecific(key, &key);
  return 0;
}
void *second(void *_) {
  step(1);
  value = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_key_create(&key, destroy);
  both(first, second);
}
