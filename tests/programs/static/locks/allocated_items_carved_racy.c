// Each node has a lock, but two nodes share the items of one allocation.
#include <pthread.h>
#include <stdlib.h>
struct node { pthread_mutex_t m; int *items; };
struct node *nodes[2];
void *worker(void *arg) {
  struct node *own = nodes[(long)arg];
  pthread_mutex_lock(&own->m);
  own->items[(long)arg & 1]++; // RACE!
  own->items[0]++; // RACE!
  pthread_mutex_unlock(&own->m);
  return 0;
}
int main(void) {
  int *items = calloc(2, sizeof *items);
  for (int i = 0; i < 2; i++) {
    nodes[i] = malloc(sizeof *nodes[i]);
    pthread_mutex_init(&nodes[i]->m, 0);
    nodes[i]->items = items;
  }
  pthread_t a, b;
  pthread_create(&a, 0, worker, (void *)0);
  pthread_create(&b, 0, worker, (void *)1);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
