#include <pthread.h>
static int flag, count;
void *worker(void *arg) {
  int got = __sync_bool_compare_and_swap(&flag, 0, 1);
  if (got) __sync_lock_release(&flag);
  if (got) count++; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
