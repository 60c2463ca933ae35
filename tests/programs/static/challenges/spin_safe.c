#include <pthread.h>
int x;
pthread_spinlock_t s;
void *worker(void *unused) {
  pthread_spin_lock(&s);
  x++; // NORACE
  pthread_spin_unlock(&s);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_spin_init(&s, 0);
  pthread_create(&t, 0, worker, 0);
  pthread_spin_lock(&s);
  x++; // NORACE
  pthread_spin_unlock(&s);
  return 0;
}
