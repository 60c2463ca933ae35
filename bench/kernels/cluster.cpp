// Clustering of a stream: points are assigned to centres, candidates for new centres are tried by
// all threads together, the gain decides.
#include "kernel.h"
#include <cmath>
#include <vector>

enum { DIMENSIONS = 32 };

struct Point {
    const float *coordinates;
    long centre;
    float cost;
};

static std::vector<float> coordinates;
static std::vector<Point> points;
static std::vector<double> gains;
static std::vector<long> candidates;
static std::vector<char> switches;

static float distance(const Point &a, const Point &b) {
    float sum = 0;
    for (int i = 0; i < DIMENSIONS; i++) {
        float difference = a.coordinates[i] - b.coordinates[i];
        sum += difference * difference;
    }
    return sum;
}

static void *work(void *argument) {
    long id = (long)argument, low = first_of(id, size), high = first_of(id + 1, size);
    for (long candidate : candidates) {
        double gain = 0;
        for (long i = low; i < high; i++) {
            float cost = distance(points[i], points[candidate]);
            switches[i] = cost < points[i].cost;
            if (switches[i]) {
                gain += std::floor(points[i].cost) - std::floor(cost);
            }
        }
        gains[id] = gain;
        meet();
        double total = 0;
        for (int thread = 0; thread < threads; thread++) {
            total += gains[thread];
        }
        if (total > 100) {
            for (long i = low; i < high; i++) {
                if (switches[i]) {
                    points[i].cost = distance(points[i], points[candidate]);
                    points[i].centre = candidate;
                }
            }
        }
        meet();
    }
    return nullptr;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv, 20000);
    uint64_t state = 13;
    coordinates.resize((size_t)size * DIMENSIONS);
    for (float &value : coordinates) {
        value = (float)(10 * next_unit(&state));
    }
    for (long i = 0; i < size; i++) {
        points.push_back({&coordinates[(size_t)i * DIMENSIONS], 0, 1e9f});
    }
    gains.resize((size_t)threads);
    switches.resize((size_t)size);
    for (int i = 0; i < 40; i++) {
        candidates.push_back((long)next_random(&state) % size);
    }
    run_team(work);
    double sum = 0;
    long centres = 0;
    for (const Point &point : points) {
        sum += point.cost;
        centres += point.centre;
    }
    printf("cluster %.6e %ld\n", sum, centres);
    return 0;
}
