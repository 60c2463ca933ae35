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
  if (d->opened) return -16; // RACE!
  spin_lock(&d->lock);
  d->opened = 1; // RACE!
  spin_unlock(&d->lock);
  return 0;
}
void *user(void *arg) { dev_open(&dev); return 0; }
int main(void) {
  pthread_t t[3];
  spin_lock_init(&dev.lock);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, user, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
