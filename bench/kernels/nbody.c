// Gravity with a tree of cells: one thread builds the tree, all walk it for their bodies.
#include "kernel.h"
#include <math.h>
#include <string.h>

struct body {
    double place[3], speed[3], mass;
};

struct cell {
    double centre[3], half, mass, weighted[3];
    struct cell *child[8];
    struct body *body;
};

static struct body *bodies;
static struct cell *cells;
static long used;

static struct cell *new_cell(const double *centre, double half) {
    struct cell *cell = &cells[used++];
    memset(cell, 0, sizeof *cell);
    memcpy(cell->centre, centre, sizeof cell->centre);
    cell->half = half;
    return cell;
}

static struct cell **place_in(struct cell *cell, const struct body *body, double *centre) {
    int which = 0;
    for (int axis = 0; axis < 3; axis++) {
        int above = body->place[axis] > cell->centre[axis];
        which |= above << axis;
        centre[axis] = cell->centre[axis] + (above ? 0.5 : -0.5) * cell->half;
    }
    return &cell->child[which];
}

static void insert(struct cell *cell, struct body *body, int depth) {
    double centre[3];
    if (cell->mass == 0 || depth > 40) {
        cell->body = body;
    } else {
        if (cell->body) {
            struct body *before = cell->body;
            cell->body = NULL;
            struct cell **slot = place_in(cell, before, centre);
            *slot = new_cell(centre, cell->half / 2);
            insert(*slot, before, depth + 1);
        }
        struct cell **slot = place_in(cell, body, centre);
        if (!*slot) {
            *slot = new_cell(centre, cell->half / 2);
        }
        insert(*slot, body, depth + 1);
    }
    cell->mass += body->mass;
    for (int axis = 0; axis < 3; axis++) {
        cell->weighted[axis] += body->mass * body->place[axis];
    }
}

static void pull(const struct cell *cell, const struct body *body, double *force) {
    double away[3], distance = 1e-4;
    for (int axis = 0; axis < 3; axis++) {
        away[axis] = cell->weighted[axis] / cell->mass - body->place[axis];
        distance += away[axis] * away[axis];
    }
    if (cell->body == body) {
        return;
    }
    if (cell->body || cell->half * cell->half < 0.16 * distance) {
        double strength = cell->mass / (distance * sqrt(distance));
        for (int axis = 0; axis < 3; axis++) {
            force[axis] += strength * away[axis];
        }
        return;
    }
    for (int i = 0; i < 8; i++) {
        if (cell->child[i]) {
            pull(cell->child[i], body, force);
        }
    }
}

static void build(void) {
    double centre[3] = {0, 0, 0};
    used = 0;
    new_cell(centre, 4);
    for (long i = 0; i < size; i++) {
        insert(&cells[0], &bodies[i], 0);
    }
}

static void *work(void *argument) {
    long id = (long)argument, low = first_of(id, size), high = first_of(id + 1, size);
    double(*forces)[3] = allocate((size_t)(high - low + 1) * sizeof *forces);
    for (int step = 0; step < 4; step++) {
        if (id == 0) {
            build();
        }
        meet();
        for (long i = low; i < high; i++) {
            memset(forces[i - low], 0, sizeof *forces);
            pull(&cells[0], &bodies[i], forces[i - low]);
        }
        meet();
        for (long i = low; i < high; i++) {
            for (int axis = 0; axis < 3; axis++) {
                bodies[i].speed[axis] += 1e-4 * forces[i - low][axis];
                bodies[i].place[axis] += 1e-4 * bodies[i].speed[axis];
            }
        }
        meet();
    }
    free(forces);
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv, 4000);
    bodies = allocate((size_t)size * sizeof *bodies);
    cells = allocate((size_t)(size * 60 + 100) * sizeof *cells);
    uint64_t state = 5;
    for (long i = 0; i < size; i++) {
        for (int axis = 0; axis < 3; axis++) {
            bodies[i].place[axis] = 2 * next_unit(&state) - 1;
            bodies[i].speed[axis] = 0;
        }
        bodies[i].mass = 1.0 / (double)size;
    }
    run_team(work);
    double sum = 0;
    for (long i = 0; i < size; i++) {
        sum += fabs(bodies[i].place[0]) + fabs(bodies[i].speed[1]);
    }
    printf("nbody %.6e\n", sum);
    free(bodies);
    free(cells);
    return 0;
}
