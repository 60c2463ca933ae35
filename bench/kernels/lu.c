// Blocked LU factorisation without pivoting: blocks are dealt out over the threads, and everyone
// reads the pivot row and column of blocks.
#include "kernel.h"
#include <math.h>

enum { B = 16 };
static long blocks;
static double *matrix; // blocks * blocks blocks of B * B, each contiguous

static double *block(long i, long j) { return matrix + (i * blocks + j) * B * B; }

static int mine(long id, long i, long j) { return (i * blocks + j) % threads == id; }

static void factor(double *a) {
    for (int k = 0; k < B; k++) {
        for (int i = k + 1; i < B; i++) {
            a[i * B + k] /= a[k * B + k];
            for (int j = k + 1; j < B; j++) {
                a[i * B + j] -= a[i * B + k] * a[k * B + j];
            }
        }
    }
}

static void solve_row(const double *pivot, double *a) {
    for (int k = 0; k < B; k++) {
        for (int i = k + 1; i < B; i++) {
            for (int j = 0; j < B; j++) {
                a[i * B + j] -= pivot[i * B + k] * a[k * B + j];
            }
        }
    }
}

static void solve_column(const double *pivot, double *a) {
    for (int k = 0; k < B; k++) {
        for (int i = 0; i < B; i++) {
            a[i * B + k] /= pivot[k * B + k];
            for (int j = k + 1; j < B; j++) {
                a[i * B + j] -= a[i * B + k] * pivot[k * B + j];
            }
        }
    }
}

static void update(const double *left, const double *top, double *a) {
    for (int i = 0; i < B; i++) {
        for (int k = 0; k < B; k++) {
            double factor = left[i * B + k];
            for (int j = 0; j < B; j++) {
                a[i * B + j] -= factor * top[k * B + j];
            }
        }
    }
}

static void *work(void *argument) {
    long id = (long)argument;
    for (long k = 0; k < blocks; k++) {
        if (mine(id, k, k)) {
            factor(block(k, k));
        }
        meet();
        for (long i = k + 1; i < blocks; i++) {
            if (mine(id, i, k)) {
                solve_column(block(k, k), block(i, k));
            }
            if (mine(id, k, i)) {
                solve_row(block(k, k), block(k, i));
            }
        }
        meet();
        for (long i = k + 1; i < blocks; i++) {
            for (long j = k + 1; j < blocks; j++) {
                if (mine(id, i, j)) {
                    update(block(i, k), block(k, j), block(i, j));
                }
            }
        }
        meet();
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv, 512);
    blocks = (size + B - 1) / B;
    long count = blocks * blocks * B * B;
    matrix = allocate((size_t)count * sizeof *matrix);
    uint64_t state = 7;
    for (long i = 0; i < count; i++) {
        matrix[i] = next_unit(&state);
    }
    for (long i = 0; i < blocks; i++) {
        for (int j = 0; j < B; j++) {
            block(i, i)[j * B + j] += (double)(blocks * B);
        }
    }
    run_team(work);
    double sum = 0;
    for (long i = 0; i < count; i++) {
        sum += fabs(matrix[i]);
    }
    printf("lu %.6e\n", sum);
    free(matrix);
    return 0;
}
