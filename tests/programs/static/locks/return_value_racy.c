// The result is not checked: the lock may not be held.
#include <pthread.h>
struct swap { int count; };
struct swap info[4];
pthread_mutex_t swap_lock = PTHREAD_MUTEX_INITIALIZER;
static struct swap *get(int val) {
  if (!val) return 0;
  pthread_mutex_lock(&swap_lock);
  return &info[val & 3];
}
extern int __VERIFIER_nondet_int(void);
void *worker(void *unused) {
  int val = __VERIFIER_nondet_int();
  struct swap *p = get(val);
  info[0].count--; // RACE!
  if (p) pthread_mutex_unlock(&swap_lock);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
