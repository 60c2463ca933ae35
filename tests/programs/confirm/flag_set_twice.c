// Both threads say that there was work: the same value, whoever comes first.
// verdict(1): confirmed
#include <pthread.h>

static int worked;

static void *work(void *unused) {
    worked = 1; // RACE! pair(1 write) pair(1 write)
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return worked == 1 ? 0 : 1;
}
