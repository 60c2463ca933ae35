// The program has a handler of its own for the crash and ends with its own status.
// verdict(1): harmful crash
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int *shared;

static void on_crash(int number) {
    (void)number;
    _exit(3);
}

static void *worker(void *unused) {
    int *mine = shared; // RACE! pair(1 read)
    *mine = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    signal(SIGSEGV, on_crash);
    shared = malloc(sizeof *shared);
    pthread_create(&thread, 0, worker, 0);
    usleep(60000);
    shared = 0; // RACE! pair(1 write)
    pthread_join(thread, 0);
    return 0;
}
