// buffered writer: writers fill the buffer under its lock, the flusher and the checker under others.
#include "program.h"
enum { SIZE = 8 };
static char buffer[SIZE];
static int used, flushes, done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, flush_lock = PTHREAD_MUTEX_INITIALIZER;
static void *writer(void *unused) {
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(&lock);
    if (used < SIZE) {
      buffer[used] = 'x';
      used = used + 1;
    }
    pthread_mutex_unlock(&lock);
  }
  done = 1;
  return unused;
}
static void *flusher(void *unused) {
  late();
  if (done) {
    pthread_mutex_lock(&flush_lock);
    flushes = flushes + 1;
    used = 0;
    pthread_mutex_unlock(&flush_lock);
  } else if (used > 4) {
    buffer[0] = 'y';
  }
  return unused;
}
int main(void) {
  both(writer, flusher);
  printf("%d %d\n", used, flushes);
  return 0;
}
