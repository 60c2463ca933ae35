extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int data[256];
void *worker(void *arg) {
  *(int *)arg += 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t id;
  for (unsigned char i = 0; ; i++) {
    pthread_create(&id, 0, worker, &data[i]);
    pthread_detach(id);
  }
}
