// The waiter looks at the flag outside the lock, so the signal can come before the wait: it sleeps
// for ever.
// verdict(1): harmful hang
#include <pthread.h>

static int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *waiter(void *unused) {
    if (!ready) { // RACE! pair(1 read)
        pthread_mutex_lock(&lock);
        pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, waiter, 0);
    ready = 1; // RACE! pair(1 write)
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    return 0;
}
