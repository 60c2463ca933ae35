// C11 threads and mutexes.
#include "../program.h"
#include <threads.h>
int value;
mtx_t lock;
int work(void *_) {
  mtx_lock(&lock);
  value++; // NORACE
  mtx_unlock(&lock);
  return 0;
}
int main(void) {
  thrd_t a, b;
  mtx_init(&lock, mtx_plain);
  thrd_create(&a, work, NULL);
  thrd_create(&b, work, NULL);
  thrd_join(a, NULL);
  thrd_join(b, NULL);
  use(value); // NORACE
}
