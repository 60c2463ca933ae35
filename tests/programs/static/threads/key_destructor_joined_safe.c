// The destructor runs before the join returns, and after the thread's own function.
#include <pthread.h>
int value;
pthread_key_t key;
void destroy(void *mine) { (*(int *)mine)++; } // NORACE
void *work(void *unused) {
  pthread_setspecific(key, &value);
  value++; // NORACE
  return 0;
}
int main(void) {
  pthread_t a;
  pthread_key_create(&key, destroy);
  pthread_create(&a, 0, work, 0);
  pthread_join(a, 0);
  return value; // NORACE
}
