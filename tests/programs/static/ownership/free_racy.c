// Freed while another thread uses it.
#include <pthread.h>
#include <stdlib.h>
int *p;
void *worker(void *unused) {
  *p = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  p = malloc(sizeof *p);
  pthread_create(&t, 0, worker, 0);
  free(p); // RACE!
  return 0;
}
