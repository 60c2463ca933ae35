// RELAY Figure 11, conditional locking: the lock is held when the result is not null.
#include <pthread.h>
struct swap { int map[4]; };
struct swap swap_info[8];
pthread_mutex_t swap_lock = PTHREAD_MUTEX_INITIALIZER;
extern int __VERIFIER_nondet_int(void);
static struct swap *swap_info_get(int entry) {
  struct swap *p;
  if (entry <= 0 || entry >= 8) goto out;
  p = &swap_info[entry];
  pthread_mutex_lock(&swap_lock);
  return p;
out:
  return 0;
}
static void swap_entry_free(struct swap *p) { p->map[0]--; } // NORACE
void *swap_free(void *unused) {
  struct swap *p = swap_info_get(__VERIFIER_nondet_int());
  if (p) {
    swap_entry_free(p);
    pthread_mutex_unlock(&swap_lock);
  }
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, swap_free, 0);
  pthread_create(&u, 0, swap_free, 0);
  return 0;
}
