// The thread ends by pthread_exit while one that it created still runs.
#include <pthread.h>
int value;
pthread_key_t key;
void destroy(void *unused) { value = 1; } // RACE!
void *child(void *unused) {
  value = 2; // RACE!
  return 0;
}
void *work(void *unused) {
  pthread_t c;
  pthread_setspecific(key, &key);
  pthread_create(&c, 0, child, 0);
  if (value == 5) pthread_exit(0); // RACE!
  pthread_join(c, 0);
  return 0;
}
int main(void) {
  pthread_t a;
  pthread_key_create(&key, destroy);
  pthread_create(&a, 0, work, 0);
  pthread_join(a, 0);
  return 0;
}
