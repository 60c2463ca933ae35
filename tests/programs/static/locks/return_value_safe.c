// The lock is held exactly when the function returns something (RELAY Figure 11).
#include <pthread.h>
struct swap { int count; };
struct swap info[4];
pthread_mutex_t swap_lock = PTHREAD_MUTEX_INITIALIZER;
static struct swap *get(int val) {
  if (!val) goto out;
  struct swap *p = &info[val & 3];
  pthread_mutex_lock(&swap_lock);
  return p;
out:
  return 0;
}
void release(int val) {
  struct swap *p = get(val);
  if (p) {
    p->count--; // NORACE
    pthread_mutex_unlock(&swap_lock);
  }
}
extern int __VERIFIER_nondet_int(void);
void *worker(void *unused) { release(__VERIFIER_nondet_int()); return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
