// The flag is looked at and set under the lock that the condition variable releases.
// verdict(1): likely-false
// verdict(2): likely-false
#include <pthread.h>

static int ready;
static int data;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *waiter(void *unused) {
    pthread_mutex_lock(&lock);
    while (!ready) // NORACE pair(1 read)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (data != 7) // NORACE pair(2 read)
        return 0;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, waiter, 0);
    data = 7; // NORACE pair(2 write)
    pthread_mutex_lock(&lock);
    ready = 1; // NORACE pair(1 write)
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    return 0;
}
