// Two deposits, one of which is lost when both read before either writes.
// verdict(1): harmful assertion
// verdict(2): harmful assertion
#include <assert.h>
#include <pthread.h>

static int balance;

static void *deposit(void *unused) {
    int before = balance; // RACE! pair(1 read)
    balance = before + 1; // RACE! pair(1 write) pair(2 write) pair(2 write)
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
