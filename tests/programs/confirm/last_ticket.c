// Two clerks sell the last ticket: each looks before the other has taken it.
// verdict(1): harmful assertion
#include <assert.h>
#include <pthread.h>

static int left = 1;

static void *sell(void *unused) {
    if (left > 0) { // RACE! pair(1 read)
        int rest = left - 1; // RACE!
        left = rest; // RACE! pair(1 write)
        return (void *)1;
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    long sold = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, sell, 0);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sold += (long)result;
    }
    assert(sold == 1);
    return 0;
}
