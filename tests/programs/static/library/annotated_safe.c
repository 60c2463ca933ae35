// What detectors are told changes nothing.
#include <pthread.h>
void AnnotateBenignRaceSized(const char *file, int line, const void *address, long size, const char *why);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void __tsan_testonly_barrier_init(unsigned *barrier, unsigned count);
void __tsan_testonly_barrier_wait(unsigned *barrier);
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
unsigned barrier;
int data;
void *worker(void *arg) {
  __tsan_testonly_barrier_wait(&barrier);
  pthread_mutex_lock(&mutex);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  data++; // NORACE
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  pthread_mutex_unlock(&mutex);
  return arg;
}
int main(void) {
  pthread_t a, b;
  __tsan_testonly_barrier_init(&barrier, 2);
  AnnotateBenignRaceSized(__FILE__, __LINE__, &data, sizeof data, "counted");
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data; // NORACE
}
