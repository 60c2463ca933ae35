// The lock lies in the same allocation as what an index finds.
#include <pthread.h>
#include <stdlib.h>
struct queue { pthread_mutex_t m; int items[8]; int head; };
struct queue *queues[3];
void *worker(void *arg) {
  for (int i = 0; i < 3; i++) {
    struct queue *q = queues[i];
    pthread_mutex_lock(&q->m);
    q->items[q->head & 7]++; // NORACE
    q->head++; // NORACE
    pthread_mutex_unlock(&q->m);
  }
  return 0;
}
int main(void) {
  for (int i = 0; i < 3; i++) {
    struct queue *q = calloc(1, sizeof *q);
    pthread_mutex_init(&q->m, 0);
    queues[i] = q;
  }
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
