// Blocks are made under a lock and used under it later, by another thread that comes after by that lock alone.
#include "../program.h"
#define BLOCKS 8
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int *blocks[BLOCKS];
void *maker(void *_) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = malloc(40); // NORACE
  pthread_mutex_unlock(&mutex);
  done();
  return 0;
}
void *user(void *_) {
  step(1);
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < BLOCKS; i++)
    blocks[i][i] = 1; // NORACE
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < BLOCKS; i++)
    free(blocks[i]); // NORACE
  return 0;
}
int main(void) { both(maker, user); }
