// Hand over hand along a list, each node's data under its own lock.
#include <pthread.h>
#include <stdlib.h>
struct node { struct node *next; int value; pthread_mutex_t lock; };
struct node *head;
static void add(int n) {
  struct node *p = head;
  pthread_mutex_lock(&p->lock);
  while (n-- > 0) {
    struct node *q = p->next; // NORACE
    if (!q) break;
    pthread_mutex_lock(&q->lock);
    pthread_mutex_unlock(&p->lock);
    p = q;
  }
  pthread_mutex_unlock(&p->lock);
}
void *worker(void *unused) { add(3); return 0; }
int main(void) {
  pthread_t t, u;
  head = malloc(sizeof *head);
  head->next = 0;
  pthread_mutex_init(&head->lock, 0);
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
