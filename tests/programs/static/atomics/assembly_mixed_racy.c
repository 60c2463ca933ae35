// A locked instruction orders nothing for those who read the counter plainly.
#include <pthread.h>
int counter;
void *worker(void *unused) {
  __asm__ volatile("lock; incl %0" : "+m"(counter)); // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  int seen = counter; // RACE!
  pthread_join(t, 0);
  return seen;
}
