// A helper waits with a lock whose address is loaded anew each time.
#include <pthread.h>
#include <stdlib.h>
struct queue { pthread_mutex_t *lock; pthread_cond_t more; int count; };
static struct queue *queue;
static void wait_for(pthread_cond_t *more, pthread_mutex_t *lock) {
    (void)more;
    pthread_mutex_unlock(lock);
}
static void grab(pthread_mutex_t *lock) {
    if (pthread_mutex_lock(lock) != 0) abort();
}
static void drop(pthread_mutex_t *lock) {
    if (pthread_mutex_unlock(lock) != 0) abort();
}
static void *consumer(void *arg) {
    (void)arg;
    grab(queue->lock);
    while (queue->count == 0) wait_for(&queue->more, queue->lock); // RACE!
    queue->count--; // RACE!
    drop(queue->lock);
    return 0;
}
int main(void) {
    queue = calloc(1, sizeof *queue);
    if (!queue) return 1;
    queue->lock = malloc(sizeof *queue->lock);
    if (!queue->lock) return 1;
    pthread_mutex_init(queue->lock, 0);
    pthread_cond_init(&queue->more, 0);
    pthread_t a, b;
    pthread_create(&a, 0, consumer, 0);
    pthread_create(&b, 0, consumer, 0);
    grab(queue->lock);
    queue->count += 2; // RACE!
    pthread_cond_broadcast(&queue->more);
    drop(queue->lock);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_mutex_destroy(queue->lock);
    free(queue->lock);
    queue->lock = 0;
    return 0;
}
