// The owner joins the worker before it takes the connection away.
// verdict(1): unproved
#include <pthread.h>
#include <stdlib.h>

struct connection {
    int handle;
};

static struct connection *shared;

static void *worker(void *unused) {
    struct connection *connection = shared; // NORACE pair(1 read)
    connection->handle++;
    return unused;
}

int main(void) {
    pthread_t thread;
    shared = calloc(1, sizeof *shared);
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    shared = 0; // NORACE pair(1 write)
    return 0;
}
