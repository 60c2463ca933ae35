// A driver in the style of the kernel: operations in a table, private data behind a pointer.
#include <pthread.h>
#include <stdlib.h>
struct device { void *private; struct ops *ops; };
struct ops { int (*open)(struct device *); int (*write)(struct device *, int); };
struct state { pthread_mutex_t lock; int users, last; };
static int my_open(struct device *d) {
  struct state *s = d->private;
  pthread_mutex_lock(&s->lock);
  s->users++; // NORACE
  pthread_mutex_unlock(&s->lock);
  return 0;
}
static int my_write(struct device *d, int v) {
  struct state *s = d->private;
  pthread_mutex_lock(&s->lock);
  s->last = v; // NORACE
  pthread_mutex_unlock(&s->lock);
  return 0;
}
static struct ops my_ops = {my_open, my_write};
static struct device dev;
void *user(void *unused) {
  dev.ops->open(&dev);
  dev.ops->write(&dev, 3);
  return 0;
}
int main(void) {
  pthread_t t, u;
  struct state *s = malloc(sizeof *s);
  if (!s) return 1;
  s->users = s->last = 0;
  pthread_mutex_init(&s->lock, 0);
  dev.private = s;
  dev.ops = &my_ops;
  pthread_create(&t, 0, user, 0);
  pthread_create(&u, 0, user, 0);
  return 0;
}
