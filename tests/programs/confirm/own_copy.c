// Each thread has a copy of its own.
// verdict(1): unproved
#include <pthread.h>

static __thread int counter;

static void *count(void *unused) {
    for (int i = 0; i < 100; i++)
        counter++; // NORACE pair(1 write) pair(1 write)
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, count, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
