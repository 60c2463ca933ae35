// The worker is started before the table that it uses is there.
// verdict(1): harmful crash
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int *table;

static void *worker(void *unused) {
    usleep(60000);
    int *mine = table; // RACE! pair(1 read)
    mine[3] = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    table = calloc(8, sizeof *table); // RACE! pair(1 write)
    pthread_join(thread, 0);
    free(table);
    return 0;
}
