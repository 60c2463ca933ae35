// locks[i] guards data[i].
#include <pthread.h>
pthread_mutex_t locks[10];
int data[10];
extern int __VERIFIER_nondet_int(void);
void *worker(void *unused) {
  int i = __VERIFIER_nondet_int();
  if (i < 0 || i >= 10) return 0;
  pthread_mutex_lock(&locks[i]);
  data[i]++; // NORACE
  pthread_mutex_unlock(&locks[i]);
  return 0;
}
int main(void) {
  pthread_t t[10];
  for (int i = 0; i < 10; i++) pthread_mutex_init(&locks[i], 0);
  for (int i = 0; i < 10; i++) pthread_create(&t[i], 0, worker, 0);
  return 0;
}
