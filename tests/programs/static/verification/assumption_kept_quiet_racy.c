// A function of the program's own that only looks as if it stopped.
#include <pthread.h>
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
int phase, data, failures;
void assume_abort_if_not(int cond) { if (!cond) { failures = 1; } }
void *writer(void *arg) {
  data = 42; // RACE!
  __VERIFIER_atomic_begin();
  phase = 1;
  __VERIFIER_atomic_end();
  return 0;
}
void *reader(void *arg) {
  __VERIFIER_atomic_begin();
  assume_abort_if_not(phase == 1);
  __VERIFIER_atomic_end();
  data++; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data;
}
