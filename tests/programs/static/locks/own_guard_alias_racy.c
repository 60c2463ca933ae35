#include <pthread.h>
// What the guard keeps is changed through another pointer before it locks.
struct guard {
  pthread_mutex_t *mutex;
};
pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
int data;
static void enter(struct guard *guard, pthread_mutex_t **also) {
  guard->mutex = &one;
  *also = &two;
  pthread_mutex_lock(guard->mutex);
}
static void *first(void *argument) {
  struct guard guard;
  enter(&guard, &guard.mutex);
  data++; // RACE!
  pthread_mutex_unlock(&two);
  return 0;
}
static void *second(void *argument) {
  struct guard guard;
  pthread_mutex_t *other;
  enter(&guard, &other);
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
