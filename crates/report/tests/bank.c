/* The program that the sample report speaks of; only its lines matter. */
#include <assert.h>
#include <pthread.h>

#define ACCOUNTS 10
#define TELLERS 4

struct account {
    int number;
    long balance;
};

static struct account accounts[ACCOUNTS];
static pthread_mutex_t bank_lock = PTHREAD_MUTEX_INITIALIZER;
static long served;
static void (*hook)(void);

static void open_accounts(void)
{
    for (int i = 0; i < ACCOUNTS; i++) {
        accounts[i].number = i;
        accounts[i].balance = 100;
    }
}

static int pick(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return (int)(*seed >> 16) % ACCOUNTS;
}

static void withdraw(int i, long amount)
{
    pthread_mutex_lock(&bank_lock);
    accounts[i].balance -= amount;
    pthread_mutex_unlock(&bank_lock);
}

static void deposit(int i, long amount)
{
        accounts[i].balance += amount;
}

/* How many customers were served. */
static void count(void)
{
    served++;
}

static void audit(void)
{
    long sum = 0;
    if (hook)
        hook();
    /* Every transfer keeps the sum. */
    pthread_mutex_lock(&bank_lock);
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].balance;
    pthread_mutex_unlock(&bank_lock);
    assert(sum == 1000);
}

static void *teller(void *argument)
{
    unsigned seed = (unsigned)(long)argument;
    deposit(pick(&seed), 10);
    withdraw(pick(&seed), 10);
    count();
    return 0;
}

int main(void)
{
    pthread_t threads[TELLERS];
    open_accounts();
    for (long t = 0; t < TELLERS; t++)
        pthread_create(&threads[t], 0, teller, (void *)t);


    if (served)
        audit();
    for (int t = 0; t < TELLERS; t++)
        pthread_join(threads[t], 0);
    return 0;
}
