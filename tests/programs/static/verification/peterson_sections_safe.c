#include <pthread.h>
#include <stdatomic.h>
int flag0, flag1, turn;
int n;
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
void *first(void *argument) {
  __VERIFIER_atomic_begin();
  flag0 = 1;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  turn = 1;
  __VERIFIER_atomic_end();
  int wish, whose;
  do {
  __VERIFIER_atomic_begin();
  wish = flag1;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  whose = turn;
  __VERIFIER_atomic_end();
  } while (wish && whose == 1);
  n++; // NORACE
  __VERIFIER_atomic_begin();
  flag0 = 0;
  __VERIFIER_atomic_end();
  return 0;
}
void *second(void *argument) {
  __VERIFIER_atomic_begin();
  flag1 = 1;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  turn = 0;
  __VERIFIER_atomic_end();
  int wish, whose;
  do {
  __VERIFIER_atomic_begin();
  wish = flag0;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  whose = turn;
  __VERIFIER_atomic_end();
  } while (wish && whose == 0);
  n++; // NORACE
  __VERIFIER_atomic_begin();
  flag1 = 0;
  __VERIFIER_atomic_end();
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
