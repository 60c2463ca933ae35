// When setjmp returns again the other thread knows the object.
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
int *shared;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *one(void *unused) {
  jmp_buf back;
  int *volatile mine = malloc(sizeof *mine);
  int *own = mine;
  if (setjmp(back) == 0) {
    pthread_mutex_lock(&lock);
    shared = own;
    pthread_mutex_unlock(&lock);
    longjmp(back, 1);
  }
  *own = 1; // RACE!
  return 0;
}
void *two(void *unused) {
  pthread_mutex_lock(&lock);
  int *found = shared;
  pthread_mutex_unlock(&lock);
  if (found) *found = 2; // RACE!
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
