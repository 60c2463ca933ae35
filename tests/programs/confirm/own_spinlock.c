// A lock made of an atomic exchange.
// verdict(1): unproved
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int taken;
static int total;

static void *add(void *unused) {
    while (atomic_exchange(&taken, 1))
        sched_yield();
    total++; // NORACE pair(1 write) pair(1 write)
    atomic_store(&taken, 0);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return total == 2 ? 0 : 1;
}
