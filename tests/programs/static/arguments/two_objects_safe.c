// Two threads of one function, each with its own object.
#include <pthread.h>
int a, b;
void *worker(void *p) {
  ++*(int *)p; // NORACE
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, &a);
  pthread_create(&u, 0, worker, &b);
  return 0;
}
