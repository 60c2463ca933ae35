// A pointer that walks over an array of structures keeps their fields apart.
#include <pthread.h>
struct slot { int *mine; int *theirs; long count; };
static struct slot slots[200];
static int a, b;
static void *worker(void *arg) {
    (void)arg;
    for (int i = 0; i < 200; i++) (*slots[i].mine)++; // RACE!
    return 0;
}
int main(void) {
    for (struct slot *slot = slots; slot != slots + 200; slot++) {
        slot->mine = &a;
        slot->theirs = slot == slots ? &a : &b;
        slot->count = 0;
    }
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    int sum = 0;
    for (int i = 0; i < 200; i++) sum += *slots[i].theirs; // RACE!
    pthread_join(thread, 0);
    return sum + b;
}
