// The handle is created in a variable and then kept in an array.
#include <pthread.h>
int x;
void *work(void *_) {
  __atomic_fetch_add(&x, 1, 5); // NORACE
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) {
    pthread_t one;
    pthread_create(&one, 0, work, 0);
    t[i] = one;
  }
  for (int i = 0; i < 4; i++)
    pthread_join(t[i], 0);
  x = 1; // NORACE
  return 0;
}
