// The creator keeps a pointer and uses it.
#include <pthread.h>
#include <stdlib.h>
struct job { int id; int result; };
struct job *last;
void *worker(void *p) {
  struct job *j = p;
  j->result = j->id; // RACE!
  return 0;
}
int main(void) {
  for (int i = 0; i < 4; i++) {
    pthread_t t;
    struct job *j = malloc(sizeof *j);
    j->id = i;
    last = j;
    pthread_create(&t, 0, worker, j);
  }
  last->result = 0; // RACE!
  return 0;
}
