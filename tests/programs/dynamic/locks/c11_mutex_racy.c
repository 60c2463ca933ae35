// C11 threads, one of which does not lock.
#include "../program.h"
#include <threads.h>
int value;
mtx_t lock;
int careful(void *_) {
  mtx_lock(&lock);
  value++; // RACE!
  mtx_unlock(&lock);
  done();
  return 0;
}
int careless(void *_) {
  step(1);
  value++; // RACE!
  return 0;
}
int main(void) {
  thrd_t a, b;
  mtx_init(&lock, mtx_plain);
  thrd_create(&a, careful, NULL);
  thrd_create(&b, careless, NULL);
  thrd_join(a, NULL);
  thrd_join(b, NULL);
}
