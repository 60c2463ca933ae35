#include <pthread.h>
// Who runs before the count is set counts down from nothing.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int running, results[4];
static void *worker(void *argument) {
  int number = (int)(long)argument;
  results[number] = number; // RACE!
  pthread_mutex_lock(&mutex);
  running--;
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) {
  pthread_t thread;
  int sum = 0, left;
  pthread_create(&thread, 0, worker, (void *)0L);
  pthread_mutex_lock(&mutex);
  running = 2;
  pthread_mutex_unlock(&mutex);
  pthread_create(&thread, 0, worker, (void *)1L);
  pthread_create(&thread, 0, worker, (void *)2L);
  do {
    pthread_mutex_lock(&mutex);
    left = running;
    pthread_mutex_unlock(&mutex);
  } while (left > 0);
  for (int i = 0; i < 4; i++) sum += results[i]; // RACE!
  return sum;
}
