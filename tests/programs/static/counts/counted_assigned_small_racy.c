#include <pthread.h>
// One thread more than are counted.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int running = 4, results[4];
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
  running = 3;
  for (long i = 0; i < 4; i++) pthread_create(&thread, 0, worker, (void *)i);
  do {
    pthread_mutex_lock(&mutex);
    left = running;
    pthread_mutex_unlock(&mutex);
  } while (left > 0);
  for (int i = 0; i < 4; i++) sum += results[i]; // RACE!
  return sum;
}
