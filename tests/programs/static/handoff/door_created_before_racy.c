// One of the threads is created before the lock is held.
#include <pthread.h>
pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
int settings;
void *worker(void *unused) {
  pthread_mutex_lock(&door);
  pthread_mutex_unlock(&door);
  return (void *)(long)settings; // RACE!
}
int main(int argc, char **argv) {
  pthread_t t;
  for (int i = 0; i < argc; i++) {
    if (i > 0) pthread_mutex_lock(&door);
    pthread_create(&t, 0, worker, 0);
    settings = 4; // RACE!
    if (i > 0) pthread_mutex_unlock(&door);
  }
  return 0;
}
