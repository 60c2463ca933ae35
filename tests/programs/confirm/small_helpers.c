// The accesses are in small functions that an optimiser puts into their callers.
// verdict(1): harmful assertion
#include <assert.h>
#include <pthread.h>

struct account {
    int balance;
};

static struct account account;

static int read_balance(struct account *from) {
    return from->balance; // RACE! pair(1 read)
}

static void write_balance(struct account *to, int amount) {
    to->balance = amount; // RACE! pair(1 write)
}

static void add(struct account *to, int amount) {
    write_balance(to, read_balance(to) + amount);
}

static void *deposit(void *unused) {
    add(&account, 1);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, deposit, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(account.balance == 2);
    return 0;
}
