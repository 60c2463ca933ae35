// The destructor gets at the other thread's variable through the key's value.
#include <pthread.h>
int value;
pthread_key_t key;
void destroy(void *mine) { *(int *)mine = 1; } // RACE!
void *work(void *unused) {
  pthread_setspecific(key, &value);
  return 0;
}
int main(void) {
  pthread_t a;
  pthread_key_create(&key, destroy);
  pthread_create(&a, 0, work, 0);
  value = 2; // RACE!
  pthread_join(a, 0);
  return 0;
}
