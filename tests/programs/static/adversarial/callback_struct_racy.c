// The handler is called through a registered structure.
#include <pthread.h>
#include <stdlib.h>
struct driver { void (*open)(struct driver *); int users; };
struct driver *registered;
static void open_device(struct driver *d) {
  d->users++; // RACE!
}
void *worker(void *unused) { registered->open(registered); return 0; }
int main(void) {
  pthread_t t, u;
  struct driver *d = malloc(sizeof *d);
  d->open = open_device;
  d->users = 0;
  registered = d;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
