// Every thread gets the address of the loop counter itself.
#include <pthread.h>
#define N 4
int slots[N];
void *worker(void *p) {
  int me = *(int *)p; // RACE!
  slots[me] = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++) pthread_create(&t[i], 0, worker, &i); // RACE!
  return 0;
}
