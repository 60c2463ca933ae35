extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
typedef struct { pthread_mutex_t raw; int held; } spinlock_t;
static inline void spin_lock_init(spinlock_t *l) { pthread_mutex_init(&l->raw, 0); l->held = 0; }
static inline void spin_lock(spinlock_t *l) { pthread_mutex_lock(&l->raw); l->held = 1; }
static inline void spin_unlock(spinlock_t *l) { l->held = 0; pthread_mutex_unlock(&l->raw); }

struct device { spinlock_t lock; int opened; long sent; };
static struct device dev;

static int dev_open(struct device *d) {
  int result = 0;
  spin_lock(&d->lock);
  if (d->opened) result = -16; // NORACE
  else d->opened = 1;          // NORACE
  spin_unlock(&d->lock);
  return result;
}
static void dev_write(struct device *d, int n) {
  spin_lock(&d->lock);
  d->sent += n; // NORACE
  spin_unlock(&d->lock);
}
void *user(void *arg) {
  if (dev_open(&dev) == 0) dev_write(&dev, __VERIFIER_nondet_int());
  return 0;
}
int main(void) {
  pthread_t t[3];
  spin_lock_init(&dev.lock);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, user, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
