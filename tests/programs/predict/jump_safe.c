// The worker leaves by a long jump out of its section, and unlocks where it lands.
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
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_mutex_lock(&lock);
  early = value; // NORACE
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  both(first, second);
  printf("%d\n", early);
  return 0;
}
