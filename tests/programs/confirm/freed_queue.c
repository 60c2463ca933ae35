// The queue is destroyed while the consumer still uses it.
// verdict(1): harmful crash
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct queue {
    int *items;
    int count;
};

static struct queue *queue;

static void *consume(void *unused) {
    int *items = queue->items;
    items[0]++; // RACE! pair(1 write)
    return unused;
}

int main(void) {
    pthread_t thread;
    queue = malloc(sizeof *queue);
    // A block of this size is mapped on its own and gone once it is freed.
    queue->items = malloc(1 << 20);
    queue->count = 1;
    pthread_create(&thread, 0, consume, 0);
    usleep(60000);
    free(queue->items); // RACE! pair(1 write)
    pthread_join(thread, 0);
    free(queue);
    return 0;
}
