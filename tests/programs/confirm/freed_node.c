// One thread walks the list while the other takes a node out and frees it.
// verdict(1): harmful crash
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct node {
    struct node *next;
    int value;
};

static struct node *head;
static int sum;

static void *walk(void *unused) {
    struct node *first = head;
    struct node *second = first->next; // RACE! pair(1 read)
    if (second)
        sum = second->value;
    return unused;
}

int main(void) {
    pthread_t thread;
    head = malloc(sizeof *head);
    head->next = calloc(1, sizeof *head);
    struct node *rest = head->next;
    pthread_create(&thread, 0, walk, 0);
    usleep(60000);
    free(head); // RACE! pair(1 write)
    pthread_join(thread, 0);
    free(rest);
    return sum;
}
