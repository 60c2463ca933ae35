#include <pthread.h>
// A call between changes what the guard keeps.
struct guard {
  pthread_mutex_t *mutex;
};
pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
int data;
static void redirect(struct guard *guard) { guard->mutex = &two; }
static void *first(void *argument) {
  struct guard guard;
  guard.mutex = &one;
  redirect(&guard);
  pthread_mutex_lock(guard.mutex);
  data++; // RACE!
  pthread_mutex_unlock(guard.mutex);
  return 0;
}
static void *second(void *argument) {
  pthread_mutex_lock(&one);
  data++; // RACE!
  pthread_mutex_unlock(&one);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data;
}
