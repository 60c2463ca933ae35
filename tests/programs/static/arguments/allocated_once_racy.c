// One object for all threads.
#include <pthread.h>
#include <stdlib.h>
struct job { int id; int result; };
void *worker(void *p) {
  struct job *j = p;
  j->result = j->id; // RACE!
  return 0;
}
int main(void) {
  struct job *j = malloc(sizeof *j);
  for (int i = 0; i < 4; i++) {
    pthread_t t;
    pthread_create(&t, 0, worker, j);
  }
  return 0;
}
