#include <pthread.h>
unsigned long hidden;
void *worker(void *arg) {
  int *p = (int *)(hidden ^ 0x5a5a5a5aUL);
  *p = 1; // RACE!
  return 0;
}
int main(void) {
  int x = 0;
  hidden = (unsigned long)&x ^ 0x5a5a5a5aUL;
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  x = 2; // RACE!
  pthread_join(t, 0);
  return x;
}
