#include <pthread.h>
#include <stdarg.h>
int x;
static void set(int n, ...) {
  va_list list;
  va_start(list, n);
  int *p = va_arg(list, int *);
  *p = n; // RACE!
  va_end(list);
}
void *worker(void *unused) { set(1, &x); return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  x = 2; // RACE!
  return 0;
}
