// A bounded queue with one lock and two conditions.
#include <pthread.h>
#include <stdlib.h>
struct queue { int items[8]; int head, tail, count; pthread_mutex_t lock; pthread_cond_t more, less; };
static struct queue *make(void) {
  struct queue *q = malloc(sizeof *q);
  q->head = q->tail = q->count = 0; // NORACE
  pthread_mutex_init(&q->lock, 0);
  pthread_cond_init(&q->more, 0);
  pthread_cond_init(&q->less, 0);
  return q;
}
static void put(struct queue *q, int item) {
  pthread_mutex_lock(&q->lock);
  while (q->count == 8) pthread_cond_wait(&q->less, &q->lock); // NORACE
  q->items[q->tail] = item; // NORACE
  q->tail = (q->tail + 1) % 8; // NORACE
  q->count++; // NORACE
  pthread_cond_signal(&q->more);
  pthread_mutex_unlock(&q->lock);
}
static int get(struct queue *q) {
  int item;
  pthread_mutex_lock(&q->lock);
  while (q->count == 0) pthread_cond_wait(&q->more, &q->lock); // NORACE
  item = q->items[q->head]; // NORACE
  q->head = (q->head + 1) % 8; // NORACE
  q->count--; // NORACE
  pthread_cond_signal(&q->less);
  pthread_mutex_unlock(&q->lock);
  return item;
}
void *producer(void *q) { for (int i = 0; i < 20; i++) put(q, i); return 0; }
void *consumer(void *q) { for (int i = 0; i < 20; i++) get(q); return 0; }
int main(void) {
  pthread_t p, c;
  struct queue *q = make();
  pthread_create(&p, 0, producer, q);
  pthread_create(&c, 0, consumer, q);
  pthread_join(p, 0);
  pthread_join(c, 0);
  free(q); // NORACE
  return 0;
}
