// The size is read without the lock.
#include <pthread.h>
#include <stdlib.h>
struct queue { int count; pthread_mutex_t lock; };
static int is_empty(struct queue *q) {
  return q->count == 0; // RACE!
}
void *producer(void *arg) {
  struct queue *q = arg;
  pthread_mutex_lock(&q->lock);
  q->count++; // RACE!
  pthread_mutex_unlock(&q->lock);
  return 0;
}
int main(void) {
  pthread_t p;
  struct queue *q = malloc(sizeof *q);
  q->count = 0;
  pthread_mutex_init(&q->lock, 0);
  pthread_create(&p, 0, producer, q);
  while (is_empty(q))
    ;
  return 0;
}
