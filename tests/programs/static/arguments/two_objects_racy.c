#include <pthread.h>
int a, b;
void *worker(void *p) {
  ++*(int *)p; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u, v;
  pthread_create(&t, 0, worker, &a);
  pthread_create(&u, 0, worker, &b);
  pthread_create(&v, 0, worker, &a);
  return 0;
}
