// Arguments differ, but not in the half that the threads use.
#include <pthread.h>
#include <stdint.h>
static int slots[8];
static void *worker(void *arg) {
    slots[(unsigned)(uintptr_t)arg]++; // RACE!
    return 0;
}
int main(void) {
    pthread_t threads[4];
    uint64_t number = 0;
    for (int i = 0; i < 4; i++, number += 1ull << 32)
        pthread_create(&threads[i], 0, worker, (void *)(uintptr_t)number);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return slots[0];
}
