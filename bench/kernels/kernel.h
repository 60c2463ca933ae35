// What every kernel shares: a team of threads with a barrier, random numbers and a checksum.
//
// usage of each kernel: KERNEL THREADS [SIZE]; prints a checksum that does not depend on THREADS.
#ifndef KERNEL_H
#define KERNEL_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int threads = 2;
static long size;
static pthread_barrier_t barrier;

static inline void meet(void) { pthread_barrier_wait(&barrier); }

// The part of `count` things that thread `id` works on.
static inline long first_of(long id, long count) { return count * id / threads; }

static inline uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static inline double next_unit(uint64_t *state) {
    return (double)next_random(state) / 2147483648.0;
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) {
        perror("kernel");
        exit(2);
    }
    return memory;
}

static void read_arguments(int argc, char **argv, long usual) {
    threads = argc > 1 ? atoi(argv[1]) : 2;
    size = argc > 2 ? atol(argv[2]) : usual;
    if (threads < 1 || threads > 64 || size < 1) {
        fprintf(stderr, "usage: %s THREADS [SIZE]\n", argv[0]);
        exit(2);
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
}

// Runs `work` in every thread with its number, and waits for all.
static void run_team(void *(*work)(void *)) {
    pthread_t team[64];
    for (long id = 0; id < threads; id++) {
        if (pthread_create(&team[id], NULL, work, (void *)id)) {
            perror("kernel");
            exit(2);
        }
    }
    for (int id = 0; id < threads; id++) {
        pthread_join(team[id], NULL);
    }
    pthread_barrier_destroy(&barrier);
}

#endif
