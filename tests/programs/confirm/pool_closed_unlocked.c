// Workers take numbered jobs from a counter and wait for more; the pool is closed without its lock. A worker
// that has looked and not yet waited misses that and sleeps for ever. It looks with the lock held, so whoever
// is held there keeps all others from their jobs: only after the last job can the two come together.
// verdict(1): harmful hang
#include <pthread.h>

enum { JOBS = 20, WORKERS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t result_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static int waiting_jobs, done_jobs, closed;

static void *work(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (waiting_jobs == 0) {
            if (closed) { // RACE! pair(1 read)
                pthread_mutex_unlock(&lock);
                return unused;
            }
            pthread_cond_wait(&added, &lock);
        }
        waiting_jobs--;
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&result_lock);
        done_jobs++;
        pthread_cond_signal(&finished);
        pthread_mutex_unlock(&result_lock);
    }
}

static void add_and_await(int job) {
    pthread_mutex_lock(&lock);
    waiting_jobs++;
    pthread_cond_signal(&added);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&result_lock);
    while (done_jobs <= job) pthread_cond_wait(&finished, &result_lock);
    pthread_mutex_unlock(&result_lock);
}

int main(void) {
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) pthread_create(&threads[i], 0, work, 0);
    for (int job = 0; job < JOBS; job++) add_and_await(job);
    closed = 1; // RACE! pair(1 write)
    pthread_cond_broadcast(&added);
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], 0);
    return 0;
}
