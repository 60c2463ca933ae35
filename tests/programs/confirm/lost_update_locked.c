// The same deposits under a lock. Both orders of the critical sections happen, so an order alone
// proves nothing.
// verdict(1): likely-false
// verdict(2): likely-false
#include <assert.h>
#include <pthread.h>

static int balance;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *deposit(void *unused) {
    pthread_mutex_lock(&lock);
    int before = balance; // NORACE pair(1 read)
    balance = before + 1; // NORACE pair(1 write) pair(2 write) pair(2 write)
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, deposit, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(balance == 2);
    return 0;
}
