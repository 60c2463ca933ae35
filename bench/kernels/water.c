// Molecules pushing each other, all pairs: own forces gathered locally, added to the shared ones
// under a lock for each group of molecules; the energy under one lock.
#include "kernel.h"
#include <math.h>
#include <string.h>

struct molecule {
    double place[3], speed[3], force[3];
};

enum { GROUPS = 32 };
static struct molecule *molecules;
static pthread_mutex_t locks[GROUPS];
static pthread_mutex_t energy_lock = PTHREAD_MUTEX_INITIALIZER;
static double energy;
static double side;

static double closest(double difference) {
    if (difference > side / 2) {
        return difference - side;
    }
    return difference < -side / 2 ? difference + side : difference;
}

// Fixed-point forces, so that the order of additions does not matter.
static double rounded(double value) { return nearbyint(value * 0x1p20) / 0x1p20; }

static double between(const struct molecule *a, const struct molecule *b, double *ours,
                      double *theirs) {
    double away[3], distance = 0;
    for (int axis = 0; axis < 3; axis++) {
        away[axis] = closest(a->place[axis] - b->place[axis]);
        distance += away[axis] * away[axis];
    }
    if (distance > 6.25) {
        return 0;
    }
    double inverse = 1 / (distance + 0.5), sixth = inverse * inverse * inverse;
    double strength = 24 * (2 * sixth * sixth - sixth) * inverse;
    for (int axis = 0; axis < 3; axis++) {
        double push = rounded(strength * away[axis]);
        ours[axis] += push;
        theirs[axis] -= push;
    }
    return rounded(4 * (sixth * sixth - sixth));
}

static void gather(long low, long high, double (*forces)[3]) {
    double sum = 0;
    memset(forces, 0, (size_t)size * sizeof *forces);
    for (long i = low; i < high; i++) {
        for (long step = 1; step <= size / 2; step++) {
            long j = (i + step) % size;
            sum += between(&molecules[i], &molecules[j], forces[i], forces[j]);
        }
    }
    pthread_mutex_lock(&energy_lock);
    energy += sum;
    pthread_mutex_unlock(&energy_lock);
    for (long i = 0; i < size; i++) {
        pthread_mutex_lock(&locks[i % GROUPS]);
        for (int axis = 0; axis < 3; axis++) {
            molecules[i].force[axis] += forces[i][axis];
        }
        pthread_mutex_unlock(&locks[i % GROUPS]);
    }
}

static void move(long low, long high) {
    for (long i = low; i < high; i++) {
        struct molecule *molecule = &molecules[i];
        for (int axis = 0; axis < 3; axis++) {
            molecule->speed[axis] += 1e-4 * molecule->force[axis];
            double place = molecule->place[axis] + 1e-4 * molecule->speed[axis];
            molecule->place[axis] = place < 0 ? place + side : place >= side ? place - side : place;
            molecule->force[axis] = 0;
        }
    }
}

static void *work(void *argument) {
    long id = (long)argument, low = first_of(id, size), high = first_of(id + 1, size);
    double(*forces)[3] = allocate((size_t)size * sizeof *forces);
    for (int step = 0; step < 5; step++) {
        gather(low, high, forces);
        meet();
        move(low, high);
        meet();
    }
    free(forces);
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv, 1200);
    size |= 1;
    side = cbrt((double)size);
    molecules = allocate((size_t)size * sizeof *molecules);
    for (int i = 0; i < GROUPS; i++) {
        pthread_mutex_init(&locks[i], NULL);
    }
    uint64_t state = 11;
    memset(molecules, 0, (size_t)size * sizeof *molecules);
    for (long i = 0; i < size; i++) {
        for (int axis = 0; axis < 3; axis++) {
            molecules[i].place[axis] = side * next_unit(&state);
        }
    }
    run_team(work);
    printf("water %.9e\n", energy);
    free(molecules);
    return 0;
}
