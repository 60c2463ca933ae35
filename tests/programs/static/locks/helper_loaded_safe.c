// The pointer to a lock goes through a helper that every lock goes through.
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t *first, *second;
static int count, other;
static void grab(pthread_mutex_t *lock) {
    if (pthread_mutex_lock(lock) != 0) abort();
}
static void drop(pthread_mutex_t *lock) {
    if (pthread_mutex_unlock(lock) != 0) abort();
}
static void *worker(void *arg) {
    (void)arg;
    grab(first);
    grab(second);
    other++; // NORACE
    drop(second);
    count++; // NORACE
    drop(first);
    return 0;
}
int main(void) {
    first = malloc(sizeof *first);
    second = malloc(sizeof *second);
    if (!first || !second) return 1;
    pthread_mutex_init(first, 0);
    pthread_mutex_init(second, 0);
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    grab(first);
    count++; // NORACE
    drop(first);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_mutex_destroy(first);
    free(first);
    first = 0;
    return count + other;
}
