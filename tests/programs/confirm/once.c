// Whoever comes first makes the table; everybody waits for that.
// verdict(1): unproved
#include <pthread.h>

static int table[4];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void) {
    table[2] = 9; // NORACE pair(1 write)
}

static void *use(void *unused) {
    pthread_once(&once, fill);
    if (table[2] != 9) // NORACE pair(1 read)
        return 0;
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, use, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
