// One thread too few is joined.
#include <pthread.h>
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
int *datas;
void *thread(void *arg) {
  int *p = arg;
  *p = __VERIFIER_nondet_int(); // RACE!
  return 0;
}
int main(void) {
  int total = __VERIFIER_nondet_int();
  pthread_t *tids = malloc(total * sizeof(pthread_t));
  datas = malloc(total * sizeof(int));
  for (int i = 0; i < total; i++) pthread_create(&tids[i], 0, &thread, &datas[i]);
  for (int i = 1; i < total; i++) pthread_join(tids[i], 0);
  return datas[0]; // RACE!
}
