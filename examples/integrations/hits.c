/* What the integrations look at: a counter that two threads share. */
#include <pthread.h>
#include <stdio.h>

static long hits;

static void *serve(void *unused)
{
    for (int i = 0; i < 1000; i++)
        hits++;
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, serve, NULL);
    pthread_create(&second, NULL, serve, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%ld hits\n", hits);
    return 0;
}
