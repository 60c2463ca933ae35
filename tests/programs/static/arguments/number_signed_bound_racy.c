// The number is compared as a signed one, and comes round nevertheless.
#include <pthread.h>
#include <stdint.h>

enum { MOST = 6 };

static int slots[2];

static void *worker(void *arg) {
    uintptr_t number = (uintptr_t)arg;
    if (number < 2) slots[number]++; // RACE!
    return 0;
}

int main(void) {
    pthread_t threads[MOST];
    int count = 0;
    for (uint32_t number = 0; (int)number < 7; number += 0x80000000u) {
        pthread_create(&threads[count++], 0, worker, (void *)(uintptr_t)number);
        if (count == MOST) break;
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
    return 0;
}
