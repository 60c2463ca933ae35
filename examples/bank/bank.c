/* A small bank that closes its day: two tellers post transfers, an auditor checks the books, a
 * clerk changes the rate. It looks careful, and five of its data races are real.
 *
 *   cc -pthread bank.c -o bank && ./bank        usually prints a clean balance
 *   racewarden hunt examples/bank/bank.c        finds, proves and replays the races
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 4, TRANSFERS = 8, TELLERS = 2 };

struct account {
    pthread_mutex_t lock;
    long balance;
};

struct session {
    int clerk;
    long limit;
};

static struct account accounts[ACCOUNTS];

static long transfers_posted;   /* race 1: a plain counter, bumped by both tellers */
static long daily_rate = 3;     /* race 2: hidden in most runs by the order of a lock */
static struct session *session; /* race 3: taken away while the auditor uses it */
static long largest_seen;       /* race 4: written only in a branch that is rarely taken */
static long closing_balance;    /* race 5: read before the flag that announces it is checked */

static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static int day_closed;

/* Look-alikes: each of these is shared by threads, and safe. */
static atomic_long requests;             /* atomic */
static long fees;                        /* always under `books` */
static long per_teller[TELLERS];         /* a slot for each teller, read after the join */
static long opening_balance;             /* written before the threads start, then only read */
static pthread_once_t branding = PTHREAD_ONCE_INIT;
static const char *bank_name;            /* written once by pthread_once */

static void choose_name(void)
{
    bank_name = "First Bank of Bitcode";
}

static void transfer(int from, int to, long amount)
{
    /* Lower number first, so that two transfers never wait for each other. */
    struct account *first = &accounts[from < to ? from : to];
    struct account *second = &accounts[from < to ? to : from];
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    accounts[from].balance -= amount;
    accounts[to].balance += amount;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
    transfers_posted++;
}

static void *teller(void *argument)
{
    long number = (long)argument;
    pthread_once(&branding, choose_name);
    for (int i = 0; i < TRANSFERS; i++) {
        int from = (int)((number + i) % ACCOUNTS);
        transfer(from, (from + 1) % ACCOUNTS, 1 + i);
        atomic_fetch_add(&requests, 1);
        per_teller[number]++;
        pthread_mutex_lock(&books);
        fees += 1;
        pthread_mutex_unlock(&books);
    }
    return NULL;
}

/* The rate is changed before the lock is taken, and read after it is given back: in a run where
 * the clerk comes first, the lock seems to order the two. */
static void *clerk(void *argument)
{
    (void)argument;
    daily_rate = 4;
    pthread_mutex_lock(&books);
    fees += 1;
    day_closed = 1;
    pthread_mutex_unlock(&books);
    closing_balance = opening_balance;
    return NULL;
}

static void *auditor(void *argument)
{
    (void)argument;
    pthread_once(&branding, choose_name);
    pthread_mutex_lock(&books);
    long seen = fees;
    int closed = day_closed;
    pthread_mutex_unlock(&books);
    long rate = daily_rate;
    long interest = seen * rate;

    if (session != NULL)
        interest += session->limit;

    /* The new rate on an open day: only when the clerk is stopped between the two. */
    if (rate != 3 && !closed)
        largest_seen = interest;
    if (closed)
        printf("closing balance %ld\n", closing_balance);
    return NULL;
}

static void *cleaner(void *argument)
{
    (void)argument;
    session = NULL;
    if (largest_seen > 0)
        printf("largest interest %ld\n", largest_seen);
    return NULL;
}

int main(void)
{
    static struct session today = {7, 100};
    pthread_t tellers[TELLERS], clerk_thread, auditor_thread, cleaner_thread;

    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        accounts[i].balance = 100;
        opening_balance += accounts[i].balance;
    }
    session = &today;

    for (long i = 0; i < TELLERS; i++)
        pthread_create(&tellers[i], NULL, teller, (void *)i);
    pthread_create(&clerk_thread, NULL, clerk, NULL);
    pthread_create(&auditor_thread, NULL, auditor, NULL);
    pthread_create(&cleaner_thread, NULL, cleaner, NULL);

    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);
    pthread_join(clerk_thread, NULL);
    pthread_join(auditor_thread, NULL);
    pthread_join(cleaner_thread, NULL);

    long total = 0;
    for (int i = 0; i < ACCOUNTS; i++)
        total += accounts[i].balance;
    assert(total == opening_balance);
    long posted = 0;
    for (int i = 0; i < TELLERS; i++)
        posted += per_teller[i];
    printf("%s: %ld transfers, balance %ld\n", bank_name, posted, total);
    return 0;
}
