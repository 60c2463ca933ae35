// Behind the long jump the lock is given back, and the value written once more.
#include "program.h"
#include <setjmp.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value, early;
static void fill(jmp_buf *back) {
  pthread_mutex_lock(&lock);
  value = 1; // NORACE
  longjmp(*back, 1);
}
static void *first(void *unused) {
  jmp_buf back;
  if (setjmp(back) == 0)
    fill(&back);
  pthread_mutex_unlock(&lock);
  value = 2; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_mutex_lock(&lock);
  early = value; // RACE!
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  both(first, second);
  printf("%d\n", early);
  return 0;
}
