// A table of labels leads into one body of the function only.
// verdict(1): confirmed
#include <assert.h>
#include <pthread.h>

static int executed;

static void *interpret(void *program) {
    static void *const labels[] = {&&halt, &&step};
    const char *at = program;
    goto *labels[(int)*at];
step:
    executed = 1; // RACE! pair(1 write) pair(1 write)
    goto *labels[(int)*++at];
halt:
    return 0;
}

int main(void) {
    static char program[] = {1, 1, 0};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, interpret, program);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(executed == 1);
    return 0;
}
