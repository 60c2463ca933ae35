// The flag is atomic, the payload is not, and nothing waits for the flag.
#include <pthread.h>
#include <stdatomic.h>
_Atomic int flag;
int payload;
void *worker(void *unused) {
  payload = 1; // RACE!
  flag = 1; // NORACE
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  flag = 2; // NORACE
  return payload; // RACE!
}
