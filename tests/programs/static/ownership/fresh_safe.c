#include <pthread.h>
#include <stdlib.h>
struct item { int value; struct item *next; };
struct item *list;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void fill(struct item *i, int v) {
  i->value = v; // NORACE
}
void *worker(void *unused) {
  struct item *i = malloc(sizeof *i);
  if (!i) return 0;
  fill(i, 1);
  i->next = 0; // NORACE
  pthread_mutex_lock(&m);
  i->next = list; // NORACE
  list = i; // NORACE
  pthread_mutex_unlock(&m);
  return 0;
}
void *reader(void *unused) {
  int sum = 0;
  pthread_mutex_lock(&m);
  for (struct item *i = list; i; i = i->next) { // NORACE
    sum += i->value; // NORACE
    i->value = 0; // NORACE
  }
  pthread_mutex_unlock(&m);
  return (void *)(long)sum;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, reader, 0);
  return 0;
}
