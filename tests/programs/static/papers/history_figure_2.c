// Paper 2, Figure 2: (6a, 6b) is excluded by the acquisition histories, (6a, 2b) and (6a, 9b)
// are not.
#include <pthread.h>
int a, b, x, y;
pthread_mutex_t lk1 = PTHREAD_MUTEX_INITIALIZER, lk2 = PTHREAD_MUTEX_INITIALIZER;
void *first(void *unused) {
  a = 1;
  pthread_mutex_lock(&lk1);
  pthread_mutex_lock(&lk2);
  y = 1;
  pthread_mutex_unlock(&lk2);
  x = 3; // RACE!
  pthread_mutex_unlock(&lk1);
  return 0;
}
void *second(void *unused) {
  pthread_mutex_lock(&lk2);
  x = 0; // RACE!
  pthread_mutex_lock(&lk1);
  b = 2;
  pthread_mutex_unlock(&lk1);
  x = 2; // NORACE
  pthread_mutex_unlock(&lk2);
  pthread_mutex_lock(&lk2);
  x = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  return 0;
}
