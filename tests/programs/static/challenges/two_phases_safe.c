// Two waves of threads, the second after the first was joined.
#include <pthread.h>
#define N 3
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *first(void *unused) {
  pthread_mutex_lock(&m);
  x++; // NORACE
  pthread_mutex_unlock(&m);
  return 0;
}
void *second(void *unused) {
  return (void *)(long)x; // NORACE
}
int main(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++) pthread_create(&t[i], 0, first, 0);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  x = 7; // NORACE
  for (int i = 0; i < N; i++) pthread_create(&t[i], 0, second, 0);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return x; // NORACE
}
