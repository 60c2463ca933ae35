// All threads get the same slot.
#include <pthread.h>
#define N 4
struct job { int id; int result; };
struct job jobs[N];
void *worker(void *p) {
  struct job *j = p;
  j->result = j->id * 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++) pthread_create(&t[i], 0, worker, &jobs[i / 2]);
  return 0;
}
