// A condition known before the first thread is not known later.
#include <pthread.h>
int flag, x;
void *worker(void *unused) {
  x++; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  if (flag) return 0;
  flag = 1;
  if (flag) {
    pthread_create(&t, 0, worker, 0);
    x++; // RACE!
  }
  return 0;
}
