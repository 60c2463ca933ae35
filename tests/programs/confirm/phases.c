// A barrier stands between writing and reading.
// verdict(1): unproved
#include <pthread.h>

static int cells[2];
static pthread_barrier_t barrier;

static void *work(void *number) {
    long mine = (long)number;
    cells[mine] = 5; // NORACE pair(1 write)
    pthread_barrier_wait(&barrier);
    long seen = cells[1 - mine]; // NORACE pair(1 read)
    return (void *)seen;
}

int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&barrier, 0, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
