// Several producers push onto one list, and what one pushed is taken off from under another's.
#include "../program.h"
enum { PRODUCERS = 3, EACH = 50 };
struct node {
  struct node *next;
  int value;
} *head;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *producer(void *_) {
  for (int i = 0; i < EACH; i++) {
    struct node *node = malloc(sizeof *node);
    node->value = i; // NORACE
    pthread_mutex_lock(&lock);
    node->next = head; // NORACE
    head = node;       // NORACE
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
int main(void) {
  pthread_t producers[PRODUCERS];
  for (int i = 0; i < PRODUCERS; i++)
    producers[i] = start(producer, NULL);
  for (int taken = 0; taken < PRODUCERS * EACH;) {
    pthread_mutex_lock(&lock);
    struct node *node = head; // NORACE
    if (node)
      head = node->next; // NORACE
    pthread_mutex_unlock(&lock);
    if (!node)
      continue;
    node->value++; // NORACE
    free(node);    // NORACE
    taken++;
  }
  for (int i = 0; i < PRODUCERS; i++)
    join(producers[i]);
}
