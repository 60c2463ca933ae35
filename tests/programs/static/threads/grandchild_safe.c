#include <pthread.h>
int x;
void *grandchild(void *unused) {
  x = 1; // NORACE
  return 0;
}
void *child(void *unused) {
  pthread_t t;
  pthread_create(&t, 0, grandchild, 0);
  pthread_join(t, 0);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, child, 0);
  pthread_join(t, 0);
  return x; // NORACE
}
