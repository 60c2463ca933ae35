// Lock and unlock in functions of their own, by pointer.
#include <pthread.h>
struct account { pthread_mutex_t lock; int balance; };
struct account a = {PTHREAD_MUTEX_INITIALIZER, 0};
void enter(struct account *p) { pthread_mutex_lock(&p->lock); }
void leave(struct account *p) { pthread_mutex_unlock(&p->lock); }
void add(struct account *p, int n) {
  enter(p);
  p->balance += n; // NORACE
  leave(p);
}
void *worker(void *unused) { add(&a, 1); return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  add(&a, 2);
  return 0;
}
