// A line goes into memory that the caller keeps.
#include <pthread.h>
#include <stdio.h>
static char *line;
static size_t room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *reader(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (getline(&line, &room, stdin) > 0) sum++; // NORACE
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    pthread_mutex_lock(&lock);
    char *mine = line;
    if (mine) sum += mine[0]; // NORACE
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    return sum;
}
