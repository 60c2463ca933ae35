// A lock-free stack: pushed with release, taken whole with acquire.
#include "../program.h"
#include <stdatomic.h>
struct node { struct node *next; int value; };
struct node *_Atomic head;
void *pusher(void *_) {
  for (int i = 0; i < 20; i++) {
    struct node *n = malloc(sizeof *n);
    n->value = i; // NORACE
    n->next = atomic_load_explicit(&head, memory_order_relaxed); // NORACE
    while (!atomic_compare_exchange_weak_explicit(&head, &n->next, n, memory_order_release,
                                                  memory_order_relaxed))
      ;
  }
  return 0;
}
void *taker(void *_) {
  for (int i = 0; i < 20; i++) {
    struct node *n = atomic_exchange_explicit(&head, NULL, memory_order_acquire);
    while (n) {
      struct node *next = n->next; // NORACE
      use(n->value);               // NORACE
      free(n);
      n = next;
    }
  }
  return 0;
}
int main(void) { both(pusher, taker); }
