// When locking throws, the handler goes on without the lock.
#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
extern "C" int __VERIFIER_nondet_int(void);
void enter() {
  if (__VERIFIER_nondet_int()) throw 1;
  pthread_mutex_lock(&m);
}
void *work(void *) {
  try {
    enter();
    x++; // RACE!
    pthread_mutex_unlock(&m);
  } catch (int) {
    x--; // RACE!
  }
  return 0;
}
int main() {
  pthread_t t, u;
  pthread_create(&t, 0, work, 0);
  pthread_create(&u, 0, work, 0);
  return 0;
}
