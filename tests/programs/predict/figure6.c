// Figure 6 (merge sort): the pool is used up in the run, so the branch for one child is not taken;
// the two lines are synchronised on different locks.
#include "program.h"
enum { TOTAL = 5 };
static int alive = 3;
static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t self = PTHREAD_MUTEX_INITIALIZER;
static int available(void) {
  pthread_mutex_lock(&pool);
  int n = TOTAL - alive; // RACE!
  pthread_mutex_unlock(&pool);
  return n;
}
static void *thread2(void *unused) {
  pthread_mutex_lock(&pool);
  alive = alive + 1;
  pthread_mutex_unlock(&pool);
  pthread_mutex_lock(&pool);
  alive = alive + 1; // RACE!
  pthread_mutex_unlock(&pool);
  return unused;
}
static void *thread1(void *unused) {
  late();
  if (available() == 1) {
    pthread_mutex_lock(&self);
    alive = alive + 1; // RACE!
    pthread_mutex_unlock(&self);
  }
  return unused;
}
static void *thread3(void *unused) {
  late();
  available();
  return unused;
}
int main(void) {
  pthread_t a, b, c;
  prepare();
  pthread_create(&b, 0, lead, (void *)thread2);
  pthread_create(&a, 0, thread1, 0);
  pthread_create(&c, 0, thread3, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  return 0;
}
