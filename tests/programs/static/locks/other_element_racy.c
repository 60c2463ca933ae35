// The lock of one element does not guard its neighbour.
#include <pthread.h>
#include <stdlib.h>
struct node { struct node *next; pthread_mutex_t lock; int data; };
struct node *head;
void *worker(void *unused) {
  struct node *p = head;
  pthread_mutex_lock(&p->lock);
  p->next->data++; // RACE!
  pthread_mutex_unlock(&p->lock);
  return 0;
}
void *other(void *unused) {
  struct node *p = head->next;
  pthread_mutex_lock(&p->lock);
  p->data++; // RACE!
  pthread_mutex_unlock(&p->lock);
  return 0;
}
int main(void) {
  pthread_t t, u;
  for (int i = 0; i < 5; i++) {
    struct node *n = malloc(sizeof *n);
    pthread_mutex_init(&n->lock, 0);
    n->next = head;
    head = n;
  }
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, other, 0);
  return 0;
}
