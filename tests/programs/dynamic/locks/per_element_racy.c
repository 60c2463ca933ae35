// A lock for each element of an array, but the wrong one.
#include "../program.h"
enum { N = 4 };
struct { pthread_mutex_t lock; int value; } cells[N];
void *first(void *_) {
  pthread_mutex_lock(&cells[1].lock);
  cells[1].value++; // RACE!
  pthread_mutex_unlock(&cells[1].lock);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  pthread_mutex_lock(&cells[0].lock);
  cells[1].value++; // RACE!
  pthread_mutex_unlock(&cells[0].lock);
  return 0;
}
int main(void) {
  for (int i = 0; i < N; i++)
    pthread_mutex_init(&cells[i].lock, NULL);
  both(first, second);
}
