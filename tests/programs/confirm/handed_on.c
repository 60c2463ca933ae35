// Arguments without names, arguments passed as copies, and a variable that both copies of a function
// have in common.
// verdict(1): confirmed
// verdict(2): confirmed
#include <assert.h>
#include <pthread.h>
#include <stdarg.h>

struct entry {
    int level;
    int words[16];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int last, level;

static int count(void) {
    static int calls;
    return ++calls;
}

static void note(int arguments, ...) {
    va_list list;
    va_start(list, arguments);
    int sum = 0;
    for (int i = 0; i < arguments; i++)
        sum += va_arg(list, int);
    va_end(list);
    assert(sum == 45);
    last = sum; // RACE! pair(1 write) pair(1 write)
}

static void enter(struct entry entry) {
    assert(entry.words[15] == 15);
    level = entry.level; // RACE! pair(2 write) pair(2 write)
    pthread_mutex_lock(&lock);
    count();
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    struct entry entry = {.level = 3, .words = {[15] = 15}};
    note(9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    enter(entry);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(count() == 3 && last == 45 && level == 3);
    return 0;
}
