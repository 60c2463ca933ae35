// A flag is polled under its lock into a variable.
#include <pthread.h>
#include <stdbool.h>
int data;
bool flag;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *sender(void *_) {
  data = 1; // NORACE
  pthread_mutex_lock(&lock);
  flag = true;
  pthread_mutex_unlock(&lock);
  return 0;
}
void *receiver(void *_) {
  bool seen = false;
  while (!seen) {
    pthread_mutex_lock(&lock);
    seen = flag;
    pthread_mutex_unlock(&lock);
  }
  data = 2; // NORACE
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, sender, 0);
  pthread_create(&u, 0, receiver, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
