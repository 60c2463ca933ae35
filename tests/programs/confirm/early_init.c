// The table is there before the worker that uses it.
// verdict(1): unproved
#include <pthread.h>
#include <stdlib.h>

static int *table;

static void *worker(void *unused) {
    int *mine = table; // NORACE pair(1 read)
    mine[3] = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    table = calloc(8, sizeof *table); // NORACE pair(1 write)
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    free(table);
    return 0;
}
