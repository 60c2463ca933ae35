// Each thread has its own array, used through pointers kept in memory.
#include <pthread.h>
struct work { int *where; int n; };
static void fill(struct work *w) {
  for (int i = 0; i < w->n; i++) w->where[i] = i; // NORACE
}
void *worker(void *unused) {
  int mine[4];
  struct work w = {mine, 4};
  fill(&w);
  return (void *)(long)mine[0]; // NORACE
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0);
  return 0;
}
