// `strtok` keeps its place in memory that all threads share.
#include <pthread.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *worker(void *arg) {
    char text[] = "a b c";
    (void)arg;
    pthread_mutex_lock(&lock);
    char *word = strtok(text, " "); // NORACE
    pthread_mutex_unlock(&lock);
    return word == text ? 0 : arg;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
