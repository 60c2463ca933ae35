// The lock taken in the last round is not the one of this round.
#include <pthread.h>
struct s { pthread_mutex_t lock; int data; struct s *next; };
struct s one, two;
void *worker(void *unused) {
  struct s *p = &one;
  pthread_mutex_lock(&p->lock);
  for (int i = 0; i < 2; i++) {
    p->data++; // RACE!
    p = p->next;
  }
  pthread_mutex_unlock(&one.lock);
  return 0;
}
void *other(void *unused) {
  pthread_mutex_lock(&two.lock);
  two.data++; // RACE!
  pthread_mutex_unlock(&two.lock);
  return 0;
}
int main(void) {
  pthread_t t, u;
  one.next = &two;
  two.next = &one;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, other, 0);
  return 0;
}
