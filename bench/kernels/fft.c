// A six-step complex FFT: rows are transformed by their owners, transposes mix all threads' rows.
#include "kernel.h"
#include <math.h>

static long rows; // size is rows * rows
static double *data, *other, *twiddle;

static void fill_twiddles(void) {
    for (long k = 0; k < rows; k++) {
        twiddle[2 * k] = cos(2 * M_PI * (double)k / (double)rows);
        twiddle[2 * k + 1] = -sin(2 * M_PI * (double)k / (double)rows);
    }
}

static void transpose(const double *from, double *to, long low, long high) {
    for (long row = low; row < high; row++) {
        for (long column = 0; column < rows; column++) {
            to[2 * (row * rows + column)] = from[2 * (column * rows + row)];
            to[2 * (row * rows + column) + 1] = from[2 * (column * rows + row) + 1];
        }
    }
}

static void swap_bits(double *row) {
    for (long i = 1, j = 0; i < rows; i++) {
        long bit = rows >> 1;
        for (; j & bit; bit >>= 1) {
            j ^= bit;
        }
        j ^= bit;
        if (i < j) {
            double re = row[2 * i], im = row[2 * i + 1];
            row[2 * i] = row[2 * j];
            row[2 * i + 1] = row[2 * j + 1];
            row[2 * j] = re;
            row[2 * j + 1] = im;
        }
    }
}

static void transform(double *row) {
    swap_bits(row);
    for (long half = 1; half < rows; half *= 2) {
        long stride = rows / (2 * half);
        for (long start = 0; start < rows; start += 2 * half) {
            for (long k = 0; k < half; k++) {
                double wr = twiddle[2 * k * stride], wi = twiddle[2 * k * stride + 1];
                double *a = row + 2 * (start + k), *b = a + 2 * half;
                double re = b[0] * wr - b[1] * wi, im = b[0] * wi + b[1] * wr;
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
        }
    }
}

static void rotate(double *row, long number) {
    double turn = -2 * M_PI * (double)number / (double)(rows * rows);
    for (long k = 0; k < rows; k++) {
        double wr = cos(turn * (double)k), wi = sin(turn * (double)k);
        double re = row[2 * k], im = row[2 * k + 1];
        row[2 * k] = re * wr - im * wi;
        row[2 * k + 1] = re * wi + im * wr;
    }
}

static void *work(void *argument) {
    long id = (long)argument, low = first_of(id, rows), high = first_of(id + 1, rows);
    for (int round = 0; round < 3; round++) {
        transpose(data, other, low, high);
        meet();
        for (long row = low; row < high; row++) {
            transform(other + 2 * row * rows);
            rotate(other + 2 * row * rows, row);
        }
        meet();
        transpose(other, data, low, high);
        meet();
        for (long row = low; row < high; row++) {
            transform(data + 2 * row * rows);
        }
        meet();
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv, 512);
    for (rows = 1; rows < size; rows *= 2) {
    }
    data = allocate((size_t)(rows * rows) * 2 * sizeof *data);
    other = allocate((size_t)(rows * rows) * 2 * sizeof *other);
    twiddle = allocate((size_t)rows * 2 * sizeof *twiddle);
    fill_twiddles();
    uint64_t state = 1;
    for (long i = 0; i < 2 * rows * rows; i++) {
        data[i] = next_unit(&state) - 0.5;
    }
    run_team(work);
    double sum = 0;
    for (long i = 0; i < 2 * rows * rows; i++) {
        sum += fabs(data[i]);
    }
    printf("fft %.6e\n", sum);
    free(data);
    free(other);
    free(twiddle);
    return 0;
}
