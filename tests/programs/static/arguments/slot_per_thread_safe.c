#include <pthread.h>
#define N 4
struct job { int id; int result; };
struct job jobs[N];
void *worker(void *p) {
  struct job *j = p;
  j->result = j->id * 2; // NORACE
  return 0;
}
int main(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++) {
    jobs[i].id = i; // NORACE
    pthread_create(&t[i], 0, worker, &jobs[i]);
  }
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  return jobs[0].result; // NORACE
}
