// A counter that is only ever changed by locked instructions, and a lock made of one.
#include <pthread.h>
int counter;
int data;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int add(int amount) {
  __asm__ volatile("lock xaddl %0, %1" : "+r"(amount), "+m"(counter)); // NORACE
  return amount;
}
void *worker(void *unused) {
  add(1);
  __asm__ volatile("pause");
  pthread_mutex_lock(&m);
  data++; // NORACE
  pthread_mutex_unlock(&m);
  __asm__ volatile("mfence" ::: "memory");
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return add(0) - data;
}
