// A whole structure is copied while another thread changes a member: the copy may be torn.
// verdict(1): confirmed
#include <pthread.h>
#include <stdio.h>

struct reading {
    long number;
    long value[20];
};

static struct reading latest;

static void *sensor(void *unused)
{
    for (long i = 1; i < 50; i++)
        latest.value[7] = i; // RACE! pair(1 write)
    return unused;
}

static void *display(void *unused)
{
    long sum = 0;
    for (int i = 0; i < 50; i++) {
        struct reading seen = latest; // RACE! pair(1 read)
        sum += seen.value[7] + seen.number;
    }
    printf("%s\n", sum >= 0 ? "done" : "odd");
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, sensor, NULL);
    pthread_create(&threads[1], NULL, display, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
