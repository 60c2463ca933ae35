// Items go through a locked queue; whoever has one has it alone.
// verdict(1): unproved
#include <pthread.h>
#include <stdlib.h>

struct item {
    int value;
    struct item *next;
};

static struct item *queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

static void *consume(void *unused) {
    pthread_mutex_lock(&lock);
    while (!queue)
        pthread_cond_wait(&filled, &lock);
    struct item *mine = queue;
    queue = mine->next;
    pthread_mutex_unlock(&lock);
    mine->value++; // NORACE pair(1 write)
    free(mine);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, consume, 0);
    struct item *fresh = malloc(sizeof *fresh);
    fresh->value = 1; // NORACE pair(1 write)
    fresh->next = 0;
    pthread_mutex_lock(&lock);
    queue = fresh;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    return 0;
}
