extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
#include <stdlib.h>
struct node { int v; struct node *next; };
static struct node *head;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct node *peek(void) {
  pthread_mutex_lock(&m);
  struct node *n = head;
  pthread_mutex_unlock(&m);
  return n;
}
void *worker(void *arg) {
  struct node *n = peek();
  if (n) n->v++; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  head = malloc(sizeof *head);
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
