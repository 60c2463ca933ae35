// bounded buffer: puts are locked, the check of the taker is not, and a halt flag goes unprotected.
#include "program.h"
enum { ROOM = 4 };
static int slots[ROOM], count, in, out, halted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void put(int value) {
  pthread_mutex_lock(&lock);
  if (count < ROOM) {
    slots[in] = value;
    in = (in + 1) % ROOM;
    count = count + 1;
  }
  pthread_mutex_unlock(&lock);
}
static int take(void) {
  int value = -1;
  if (count > 0 && !halted) {
    value = slots[out];
    out = (out + 1) % ROOM;
    count = count - 1;
  } else if (halted) {
    value = count;
  }
  return value;
}
static void *producer(void *unused) {
  for (int i = 0; i < 3; i++)
    put(i);
  halted = 0;
  return unused;
}
static void *consumer(void *unused) {
  late();
  int sum = 0;
  for (int i = 0; i < 2; i++)
    sum += take();
  printf("%d\n", sum);
  return unused;
}
int main(void) {
  both(producer, consumer);
  return 0;
}
