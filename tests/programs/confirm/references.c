// A reference count without a lock: a lost decrement keeps the object for ever.
// verdict(1): harmful assertion
#include <assert.h>
#include <pthread.h>

static int references = 2;
static int dropped;

static void *drop(void *unused) {
    int before = references; // RACE! pair(1 read)
    references = before - 1; // RACE! pair(1 write)
    if (before == 1)
        dropped = 1;
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, drop, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(dropped);
    return 0;
}
