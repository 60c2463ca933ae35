// Both may begin.
#include <pthread.h>
#include <semaphore.h>
static sem_t full, empty;
static int slot, sum;
static void *producer(void *arg) {
    (void)arg;
    for (int i = 0; i < 10; i++) {
        sem_wait(&empty);
        slot = i; // RACE!
        sem_post(&full);
    }
    return 0;
}
static void *consumer(void *arg) {
    (void)arg;
    for (int i = 0; i < 10; i++) {
        sem_wait(&full);
        sum += slot; // RACE!
        sem_post(&empty);
    }
    return 0;
}
int main(void) {
    sem_init(&full, 0, 1);
    sem_init(&empty, 0, 1);
    pthread_t a, b;
    pthread_create(&a, 0, producer, 0);
    pthread_create(&b, 0, consumer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return sum;
}
