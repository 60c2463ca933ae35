// The owner takes a connection away long after the worker has used it, so plain runs are fine;
// nothing but time orders the two.
// verdict(1): harmful crash
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct connection {
    int handle;
};

static struct connection *shared;

static void *worker(void *unused) {
    struct connection *connection = shared; // RACE! pair(1 read)
    connection->handle++;
    return unused;
}

int main(void) {
    pthread_t thread;
    shared = calloc(1, sizeof *shared);
    pthread_create(&thread, 0, worker, 0);
    usleep(60000);
    shared = 0; // RACE! pair(1 write)
    pthread_join(thread, 0);
    return 0;
}
