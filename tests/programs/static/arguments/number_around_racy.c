// The number that threads are given comes round to one that another has.
#include <pthread.h>
#include <stdint.h>

static int hits[2];

static void *work(void *given) {
    uintptr_t number = (uintptr_t)given;
    if (number < 2)
        hits[number]++; // RACE!
    return 0;
}

int main(void) {
    pthread_t threads[4];
    unsigned number = 0;
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], 0, work, (void *)(uintptr_t)number);
        number += 0x80000000u;
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return 0;
}
