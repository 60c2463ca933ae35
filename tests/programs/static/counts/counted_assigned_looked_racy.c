#include <pthread.h>
// The first thread has looked before it says how many there are.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t done = PTHREAD_COND_INITIALIZER;
int running, results[4];
static void *worker(void *argument) {
  int number = (int)(long)argument;
  results[number] = number; // RACE!
  pthread_mutex_lock(&mutex);
  if (--running == 0) pthread_cond_signal(&done);
  pthread_mutex_unlock(&mutex);
  return 0;
}
static void wait_for_all(void) {
  pthread_mutex_lock(&mutex);
  while (running > 0) pthread_cond_wait(&done, &mutex);
  pthread_mutex_unlock(&mutex);
}
int main(void) {
  pthread_t thread;
  int sum = 0;
  if (running == 0) sum = 1;
  else return 0;
  running = 4;
  for (long i = 0; i < 4; i++) {
    pthread_create(&thread, 0, worker, (void *)i);
    pthread_detach(thread);
  }
  if (sum != 1) wait_for_all();
  for (int i = 0; i < 4; i++) sum += results[i]; // RACE!
  return sum;
}
