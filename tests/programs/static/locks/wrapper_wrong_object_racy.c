// The wrapper locks another account than the one that is changed.
#include <pthread.h>
struct account { pthread_mutex_t lock; int balance; };
struct account a = {PTHREAD_MUTEX_INITIALIZER, 0}, b = {PTHREAD_MUTEX_INITIALIZER, 0};
void enter(struct account *p) { pthread_mutex_lock(&p->lock); }
void leave(struct account *p) { pthread_mutex_unlock(&p->lock); }
void move(struct account *from, struct account *to) {
  enter(from);
  from->balance--;
  to->balance++; // RACE!
  leave(from);
}
void *worker(void *unused) { move(&a, &b); return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  enter(&b);
  b.balance = 7; // RACE!
  leave(&b);
  return 0;
}
