// A container is found by a distance from a null pointer, as older code spells `offsetof`.
#include <pthread.h>
#include <stdlib.h>
struct link { struct link *next; };
struct item { int value; struct link link; };
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
struct link *head;
void *worker(void *unused) {
  pthread_mutex_lock(&mutex);
  for (struct link *l = head; l; l = l->next) {
    struct item *i = (struct item *)((char *)l - (size_t)&((struct item *)0)->link);
    i->value++; // NORACE
  }
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) {
  pthread_t t, u;
  for (int n = 0; n < 3; n++) {
    struct item *i = malloc(sizeof *i);
    i->value = n;
    i->link.next = head;
    head = &i->link;
  }
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
