// The jump leaves the section after the lock was released.
#include <pthread.h>
#include <setjmp.h>
int value;
jmp_buf back;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void leave(void) {
  pthread_mutex_unlock(&lock);
  longjmp(back, 1);
}
void *one(void *unused) {
  pthread_mutex_lock(&lock);
  if (setjmp(back) == 0) leave();
  value++; // RACE!
  return 0;
}
void *two(void *unused) {
  pthread_mutex_lock(&lock);
  value++; // RACE!
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
