// A jump out of the locked section; the state after setjmp is that of the jump.
#include <pthread.h>
#include <setjmp.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  jmp_buf env;
  pthread_mutex_lock(&m);
  if (setjmp(env) == 0) {
    pthread_mutex_unlock(&m);
    longjmp(env, 1);
  }
  x++; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
