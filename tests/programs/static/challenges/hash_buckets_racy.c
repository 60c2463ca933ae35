// The bucket of the lock is not the bucket of the list.
#include <pthread.h>
#include <stdlib.h>
#define BUCKETS 16
struct node { struct node *next; int key; };
struct bucket { pthread_mutex_t lock; struct node *first; };
struct bucket table[BUCKETS];
extern int __VERIFIER_nondet_int(void);
void *worker(void *unused) {
  int key = __VERIFIER_nondet_int();
  struct bucket *b = &table[(unsigned)key % BUCKETS];
  struct bucket *c = &table[((unsigned)key / 2) % BUCKETS];
  struct node *n = malloc(sizeof *n);
  pthread_mutex_lock(&b->lock);
  c->first = n; // RACE!
  pthread_mutex_unlock(&b->lock);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
