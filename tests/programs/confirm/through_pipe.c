// A byte in a pipe says that the data is there.
// verdict(1): unproved
#include <pthread.h>
#include <unistd.h>

static int data;
static int ends[2];

static void *produce(void *unused) {
    char byte = 1;
    data = 8; // NORACE pair(1 write)
    return write(ends[1], &byte, 1) == 1 ? unused : 0;
}

int main(void) {
    pthread_t thread;
    char byte;
    if (pipe(ends) != 0)
        return 2;
    pthread_create(&thread, 0, produce, 0);
    if (read(ends[0], &byte, 1) != 1)
        return 2;
    int seen = data; // NORACE pair(1 read)
    pthread_join(thread, 0);
    return seen == 8 ? 0 : 1;
}
