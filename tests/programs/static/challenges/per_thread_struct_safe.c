#include <pthread.h>
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
struct per_thread { pthread_t tid; int data; };
struct per_thread *datas;
void *thread(void *arg) {
  struct per_thread *p = arg;
  p->data = __VERIFIER_nondet_int(); // NORACE
  return 0;
}
int main(void) {
  int total = __VERIFIER_nondet_int();
  datas = malloc(total * sizeof(struct per_thread));
  for (int i = 0; i < total; i++) pthread_create(&datas[i].tid, 0, &thread, &datas[i]); // NORACE
  for (int i = 0; i < total; i++) pthread_join(datas[i].tid, 0); // NORACE
  free(datas); // NORACE
  return 0;
}
