// One line, two threads, never the same memory.
// verdict(1): likely-false
#include <pthread.h>

static int slots[2];

static void *fill(void *slot) {
    for (int i = 0; i < 1000; i++)
        *(int *)slot += 1; // NORACE pair(1 write) pair(1 write)
    return slot;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, fill, &slots[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return slots[0] + slots[1] == 2000 ? 0 : 1;
}
