// The jump leaves a section whose lock is released where it lands.
#include <pthread.h>
#include <setjmp.h>
int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void fill(jmp_buf *back) {
  pthread_mutex_lock(&lock);
  value = 1; // NORACE
  longjmp(*back, 1);
}
void *one(void *unused) {
  jmp_buf back;
  if (setjmp(back) == 0) fill(&back);
  pthread_mutex_unlock(&lock);
  return 0;
}
void *two(void *unused) {
  pthread_mutex_lock(&lock);
  value++; // NORACE
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
