// Threads take a lock before they go on that their creator holds until it is ready.
#include <pthread.h>
pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
int settings, results[2];
static void pass(void) {
  pthread_mutex_lock(&door);
  pthread_mutex_unlock(&door);
}
void *worker(void *own) {
  pass();
  results[(long)own] = settings; // NORACE
  return 0;
}
int main(void) {
  pthread_t t[2];
  pthread_mutex_lock(&door);
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, (void *)i);
  settings = 4; // NORACE
  pthread_mutex_unlock(&door);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return results[0];
}
