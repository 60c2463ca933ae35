// `localtime` and `gmtime` answer in the same memory.
#include <pthread.h>
#include <time.h>
static int day;
static void *worker(void *arg) {
    time_t now = 0;
    (void)arg;
    struct tm *local = localtime(&now); // NORACE
    if (local) day = local->tm_mday; // NORACE
    return 0;
}
int main(void) {
    pthread_t thread;
    time_t now = 1;
    int hour = 0;
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    struct tm *universal = gmtime(&now); // NORACE
    if (universal) hour = universal->tm_hour; // NORACE
    return hour + day;
}
