// The divisor is looked at, then changed, then used.
// verdict(1): harmful crash
#include <pthread.h>
#include <unistd.h>

static int divisor = 4;
static int share;

static void *divide(void *unused) {
    if (divisor != 0) { // RACE!
        int parts = divisor; // RACE! pair(1 read)
        share = 100 / parts;
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, divide, 0);
    usleep(60000);
    divisor = 0; // RACE! pair(1 write)
    pthread_join(thread, 0);
    return share == 25 ? 0 : 1;
}
