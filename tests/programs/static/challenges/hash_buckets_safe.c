// One lock per bucket.
#include <pthread.h>
#include <stdlib.h>
#define BUCKETS 16
struct node { struct node *next; int key; };
struct bucket { pthread_mutex_t lock; struct node *first; };
struct bucket table[BUCKETS];
extern int __VERIFIER_nondet_int(void);
static void insert(int key) {
  struct node *n = malloc(sizeof *n);
  struct bucket *b = &table[(unsigned)key % BUCKETS];
  n->key = key; // NORACE
  pthread_mutex_lock(&b->lock);
  n->next = b->first; // NORACE
  b->first = n; // NORACE
  pthread_mutex_unlock(&b->lock);
}
void *worker(void *unused) {
  for (int i = 0; i < 10; i++) insert(__VERIFIER_nondet_int());
  return 0;
}
int main(void) {
  pthread_t t, u;
  for (int i = 0; i < BUCKETS; i++) pthread_mutex_init(&table[i].lock, 0);
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
