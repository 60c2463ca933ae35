// A list per lock; nodes move in only under it.
#include <pthread.h>
#include <stdlib.h>
struct node { struct node *next; int datum; };
struct node *A;
pthread_mutex_t A_mutex = PTHREAD_MUTEX_INITIALIZER;
static void init(struct node *p, int x) {
  p->next = NULL; // NORACE
  p->datum = x; // NORACE
}
void *t_fun(void *arg) {
  struct node *p = malloc(sizeof(struct node));
  init(p, 7);
  pthread_mutex_lock(&A_mutex);
  p->next = A->next; // NORACE
  A->next = p; // NORACE
  A->datum++; // NORACE
  pthread_mutex_unlock(&A_mutex);
  return NULL;
}
int main(void) {
  pthread_t t1;
  A = malloc(sizeof(struct node));
  init(A, 3);
  pthread_create(&t1, NULL, t_fun, NULL);
  pthread_mutex_lock(&A_mutex);
  A->datum = 5; // NORACE
  pthread_mutex_unlock(&A_mutex);
  return 0;
}
