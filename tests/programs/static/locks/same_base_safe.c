// Each element of a list carries the lock of its data.
#include <pthread.h>
#include <stdlib.h>
struct node { struct node *next; pthread_mutex_t lock; int data; };
struct node *head;
pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
struct node *find(int n) {
  pthread_mutex_lock(&list_lock);
  struct node *p = head; // NORACE
  while (n-- && p) p = p->next;
  pthread_mutex_unlock(&list_lock);
  return p;
}
void *worker(void *unused) {
  struct node *p = find(3);
  if (p) {
    pthread_mutex_lock(&p->lock);
    p->data++; // NORACE
    pthread_mutex_unlock(&p->lock);
  }
  return 0;
}
int main(void) {
  pthread_t t, u;
  for (int i = 0; i < 5; i++) {
    struct node *n = malloc(sizeof *n);
    pthread_mutex_init(&n->lock, 0);
    n->data = i; // NORACE
    pthread_mutex_lock(&list_lock);
    n->next = head; // NORACE
    head = n; // NORACE
    pthread_mutex_unlock(&list_lock);
  }
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
