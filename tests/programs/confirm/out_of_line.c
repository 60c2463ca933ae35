// Local functions with one call each, which stay functions of their own and change their parameters
// when they are optimised: the first has one that is not used, the second could take a value instead of
// a pointer, and one is always the same.
// verdict(1): harmful assertion
#include <assert.h>
#include <pthread.h>

struct account {
    int balance;
};

static struct account account;

__attribute__((noinline)) static int read_balance(struct account *from, int unused) {
    return from->balance; // RACE! pair(1 read)
}

__attribute__((noinline)) static void write_balance(struct account *to, const int *amount) {
    to->balance = *amount; // RACE! pair(1 write)
}

__attribute__((noinline)) static void add(struct account *to, int amount) {
    int balance = read_balance(to, 7) + amount;
    write_balance(to, &balance);
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
