// `errno` is each thread's own.
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int failures;
static void *worker(void *text) {
    errno = 0;
    pthread_mutex_lock(&lock);
    if (errno || !isalpha(*(char *)text)) failures++; // NORACE
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    static char text[] = "text";
    pthread_t a, b;
    pthread_create(&a, 0, worker, text);
    pthread_create(&b, 0, worker, text);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return failures + errno;
}
