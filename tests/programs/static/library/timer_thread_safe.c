// A timer's function and the first thread use one lock.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
int ticks;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void tick(union sigval value) {
  pthread_mutex_lock(&lock);
  ++*(int *)value.sival_ptr; // NORACE
  pthread_mutex_unlock(&lock);
}
int main(void) {
  timer_t timer;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = tick;
  event.sigev_value.sival_ptr = &ticks;
  timer_create(CLOCK_REALTIME, &event, &timer);
  pthread_mutex_lock(&lock);
  ticks = 3; // NORACE
  pthread_mutex_unlock(&lock);
  return 0;
}
