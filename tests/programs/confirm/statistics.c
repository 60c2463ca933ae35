// A counter nobody relies on: a race without harm, next to one that does harm.
// verdict(1): confirmed
// verdict(2): harmful assertion
#include <assert.h>
#include <pthread.h>

static int visits;
static int owner;

static void *visit(void *name) {
    visits = 1; // RACE! pair(1 write) pair(1 write)
    int mine = *(int *)name;
    owner = mine; // RACE! pair(2 write) pair(2 write)
    return name;
}

int main(void) {
    pthread_t threads[2];
    int names[2] = {1, 2};
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, visit, &names[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(owner == 2 && visits == 1);
    return 0;
}
