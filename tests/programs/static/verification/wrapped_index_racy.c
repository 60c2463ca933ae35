extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int data[300];
struct job { unsigned char at; } jobs[300];
void *worker(void *arg) {
  unsigned char i = (unsigned char)(long)arg;
  data[i]++; // RACE!
  return 0;
}
int main(void) {
  pthread_t ids[300];
  for (long i = 0; i < 300; i++) pthread_create(&ids[i], 0, worker, (void *)i);
  for (int i = 0; i < 300; i++) pthread_join(ids[i], 0);
  return 0;
}
