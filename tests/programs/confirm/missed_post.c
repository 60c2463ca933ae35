// The worker posts only if someone waits; it may look just before the waiter says so.
// verdict(1): harmful hang
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static int waiting;
static sem_t done;

static void *worker(void *unused) {
    usleep(60000);
    if (waiting) // RACE! pair(1 read)
        sem_post(&done);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&done, 0, 0);
    pthread_create(&thread, 0, worker, 0);
    waiting = 1; // RACE! pair(1 write)
    sem_wait(&done);
    pthread_join(thread, 0);
    return 0;
}
