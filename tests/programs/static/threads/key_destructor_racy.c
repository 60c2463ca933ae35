// Two threads' destructors of a key change one variable.
#include <pthread.h>
int value;
pthread_key_t key;
void destroy(void *unused) { value++; } // RACE!
void *work(void *unused) {
  pthread_setspecific(key, &key);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_key_create(&key, destroy);
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
