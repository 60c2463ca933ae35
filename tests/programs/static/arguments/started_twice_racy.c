// The function with the loop is called twice.
#include <pthread.h>
#define N 4
int slots[N];
pthread_t t[N];
void *worker(void *p) {
  *(int *)p = 1; // RACE!
  return 0;
}
static void start(void) {
  for (int i = 0; i < N; i++) pthread_create(&t[i], 0, worker, &slots[i]);
}
int main(void) {
  start();
  start();
  return 0;
}
