// A lock for each element of an array.
#include "../program.h"
enum { N = 4 };
struct { pthread_mutex_t lock; int value; } cells[N];
void *work(void *_) {
  for (int i = 0; i < N; i++) {
    pthread_mutex_lock(&cells[i].lock);
    cells[i].value++; // NORACE
    pthread_mutex_unlock(&cells[i].lock);
  }
  return 0;
}
int main(void) {
  for (int i = 0; i < N; i++)
    pthread_mutex_init(&cells[i].lock, NULL);
  both(work, work);
}
