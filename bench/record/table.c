// A hash table with a lock per bucket, used by four threads.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { BUCKETS = 64, THREADS = 4, ROUNDS = 60000 };
struct entry { unsigned key, count; struct entry *next; };
static struct entry *buckets[BUCKETS];
static pthread_mutex_t locks[BUCKETS];
static void add(unsigned key) {
  unsigned at = key % BUCKETS;
  pthread_mutex_lock(&locks[at]);
  struct entry *entry = buckets[at];
  while (entry && entry->key != key)
    entry = entry->next;
  if (!entry) {
    entry = malloc(sizeof *entry);
    *entry = (struct entry){key, 0, buckets[at]};
    buckets[at] = entry;
  }
  entry->count++;
  pthread_mutex_unlock(&locks[at]);
}
static void *work(void *seed) {
  unsigned state = (unsigned)(size_t)seed;
  for (int i = 0; i < ROUNDS; i++) {
    state = state * 1664525u + 1013904223u;
    add(state >> 23);
  }
  return NULL;
}
int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < BUCKETS; i++)
    pthread_mutex_init(&locks[i], NULL);
  for (size_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, (void *)(i + 1));
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  unsigned sum = 0;
  for (int i = 0; i < BUCKETS; i++)
    for (struct entry *e = buckets[i]; e; e = e->next)
      sum += e->count;
  printf("%u\n", sum);
  return 0;
}
