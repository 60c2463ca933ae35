// Both threads find the buffer still there and free it.
// verdict(1): harmful crash
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static char *buffer;

static void release(void) {
    if (buffer) { // RACE! pair(1 read)
        free(buffer); // RACE!
        buffer = 0; // RACE! pair(1 write)
    }
}

static void *worker(void *unused) {
    release();
    return unused;
}

int main(void) {
    pthread_t thread;
    buffer = malloc(64);
    pthread_create(&thread, 0, worker, 0);
    usleep(60000);
    release();
    pthread_join(thread, 0);
    return 0;
}
