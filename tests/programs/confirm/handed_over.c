// An atomic flag hands plain data over; the reader spins.
// verdict(1): unproved
#include <pthread.h>
#include <stdatomic.h>

static int data;
static atomic_int ready;

static void *reader(void *unused) {
    while (!atomic_load(&ready))
        ;
    if (data != 7) // NORACE pair(1 read)
        return 0;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    data = 7; // NORACE pair(1 write)
    atomic_store(&ready, 1);
    pthread_join(thread, 0);
    return 0;
}
