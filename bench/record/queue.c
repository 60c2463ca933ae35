// Two producers and two consumers of a bounded queue.
#include <pthread.h>
#include <stdio.h>
enum { ROOM = 32, EACH = 60000 };
static int slots[ROOM], count, in, out;
static long sums[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static void *produce(void *unused) {
  for (int i = 0; i < EACH; i++) {
    pthread_mutex_lock(&lock);
    while (count == ROOM)
      pthread_cond_wait(&not_full, &lock);
    slots[in] = i;
    in = (in + 1) % ROOM;
    count++;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}
static void *consume(void *sum) {
  for (int i = 0; i < EACH; i++) {
    pthread_mutex_lock(&lock);
    while (count == 0)
      pthread_cond_wait(&not_empty, &lock);
    *(long *)sum += slots[out];
    out = (out + 1) % ROOM;
    count--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 2; i++) {
    pthread_create(&threads[2 * i], NULL, produce, NULL);
    pthread_create(&threads[2 * i + 1], NULL, consume, &sums[i]);
  }
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  printf("%ld\n", sums[0] + sums[1]);
  return 0;
}
