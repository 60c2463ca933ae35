#include <pthread.h>
#include <stdlib.h>
struct job { int id; int result; };
void *worker(void *p) {
  struct job *j = p;
  j->result = j->id; // NORACE
  free(j); // NORACE
  return 0;
}
int main(void) {
  for (int i = 0; i < 4; i++) {
    pthread_t t;
    struct job *j = malloc(sizeof *j);
    j->id = i; // NORACE
    pthread_create(&t, 0, worker, j);
  }
  return 0;
}
