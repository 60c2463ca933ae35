// Radix sort: each thread counts its keys, the counts become places, each thread moves its keys.
#include "kernel.h"
#include <string.h>

enum { BITS = 8, RADIX = 1 << BITS };
static uint32_t *keys, *sorted;
static long (*places)[RADIX];

static void *work(void *argument) {
    long id = (long)argument, low = first_of(id, size), high = first_of(id + 1, size);
    uint32_t *from = keys, *to = sorted;
    for (int shift = 0; shift < 32; shift += BITS) {
        memset(places[id], 0, sizeof places[id]);
        for (long i = low; i < high; i++) {
            places[id][from[i] >> shift & (RADIX - 1)]++;
        }
        meet();
        if (id == 0) {
            long next = 0;
            for (int digit = 0; digit < RADIX; digit++) {
                for (int thread = 0; thread < threads; thread++) {
                    long count = places[thread][digit];
                    places[thread][digit] = next;
                    next += count;
                }
            }
        }
        meet();
        for (long i = low; i < high; i++) {
            to[places[id][from[i] >> shift & (RADIX - 1)]++] = from[i];
        }
        meet();
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv, 2000000);
    keys = allocate((size_t)size * sizeof *keys);
    sorted = allocate((size_t)size * sizeof *sorted);
    places = allocate((size_t)threads * sizeof *places);
    uint64_t state = 3;
    for (long i = 0; i < size; i++) {
        keys[i] = (uint32_t)next_random(&state);
    }
    run_team(work);
    uint64_t sum = 0;
    for (long i = 0; i < size; i++) {
        sum = sum * 31 + keys[i];
        if (i > 0 && keys[i - 1] > keys[i]) {
            puts("not sorted");
            return 1;
        }
    }
    printf("radix %016llx\n", (unsigned long long)sum);
    free(keys);
    free(sorted);
    free(places);
    return 0;
}
