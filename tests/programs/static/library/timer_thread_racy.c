// A timer's function runs on a thread of its own, with the value of the event.
#include <signal.h>
#include <string.h>
#include <time.h>
int ticks;
static void tick(union sigval value) {
  ++*(int *)value.sival_ptr; // RACE!
}
int main(void) {
  timer_t timer;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = tick;
  event.sigev_value.sival_ptr = &ticks;
  timer_create(CLOCK_REALTIME, &event, &timer);
  ticks = 3; // RACE!
  return 0;
}
