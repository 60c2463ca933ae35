// Whoever does not get the lock goes away.
// verdict(1): unproved
#include <pthread.h>

static int log_lines;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *note(void *unused) {
    for (int i = 0; i < 20; i++) {
        if (pthread_mutex_trylock(&lock) != 0)
            continue;
        log_lines++; // NORACE pair(1 write) pair(1 write)
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, note, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
