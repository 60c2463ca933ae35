// RELAY Figure 1: the power event is read under the lock, the statistics are not.
#include <pthread.h>
struct info { pthread_mutex_t lock; struct { int ev; } pwr; struct { int rx_p; } stats; };
struct device { struct info *priv; };
int vals[4];
struct info the_info = {PTHREAD_MUTEX_INITIALIZER, {0}, {0}};
struct device dev = {&the_info};
static void airo_read_stats(struct info *ai) {
  if (ai->pwr.ev) { // NORACE
    pthread_mutex_unlock(&ai->lock);
    return;
  }
  pthread_mutex_unlock(&ai->lock);
  ai->stats.rx_p = vals[0]; // RACE!
}
void *airo_thread(void *p) {
  struct device *d = p;
  struct info *ai = d->priv; // NORACE
  pthread_mutex_lock(&ai->lock);
  airo_read_stats(ai);
  return 0;
}
int main(void) {
  pthread_t t;
  for (int i = 0; i < 3; i++) pthread_create(&t, 0, airo_thread, &dev);
  return 0;
}
