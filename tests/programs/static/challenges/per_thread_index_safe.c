#include <pthread.h>
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
extern void abort(void);
void assume_abort_if_not(int cond) { if (!cond) abort(); }
int *datas;
void *thread(void *arg) {
  int i = (int)(long)arg;
  datas[i] = __VERIFIER_nondet_int(); // NORACE
  return 0;
}
int main(void) {
  int total = __VERIFIER_nondet_int();
  assume_abort_if_not(total >= 1);
  assume_abort_if_not(total < 10000);
  pthread_t *tids = malloc(total * sizeof(pthread_t));
  datas = malloc(total * sizeof(int)); // NORACE
  for (int i = 0; i < total; i++) pthread_create(&tids[i], 0, &thread, (void *)(long)i);
  for (int i = 0; i < total; i++) pthread_join(tids[i], 0);
  free(tids);
  free(datas); // NORACE
  return 0;
}
