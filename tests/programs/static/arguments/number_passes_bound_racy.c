// A wide step passes the bound by, and the number comes round.
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
    for (uint32_t number = 0; number != 5; number += 0x40000000u) {
        pthread_create(&threads[count++], 0, worker, (void *)(uintptr_t)number);
        if (count == MOST) break;
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
    return 0;
}
