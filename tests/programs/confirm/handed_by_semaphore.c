// A semaphore hands the result over.
// verdict(1): unproved
#include <pthread.h>
#include <semaphore.h>

static int result;
static sem_t done;

static void *worker(void *unused) {
    result = 42; // NORACE pair(1 write)
    sem_post(&done);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&done, 0, 0);
    pthread_create(&thread, 0, worker, 0);
    sem_wait(&done);
    int seen = result; // NORACE pair(1 read)
    pthread_join(thread, 0);
    return seen == 42 ? 0 : 1;
}
