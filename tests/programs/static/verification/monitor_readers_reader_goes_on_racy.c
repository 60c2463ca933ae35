// The reader does not ask for a writer.
#include <pthread.h>
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int readers, writing, data;
static void read_begins(void) {
  pthread_mutex_lock(&mutex);
  readers++;
  pthread_mutex_unlock(&mutex);
}
static void read_ends(void) {
  pthread_mutex_lock(&mutex);
  if (--readers == 0) pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}
static void write_begins(void) {
  pthread_mutex_lock(&mutex);
  while (writing || readers > 0) pthread_cond_wait(&changed, &mutex);
  writing = 1;
  pthread_mutex_unlock(&mutex);
}
static void write_ends(void) {
  pthread_mutex_lock(&mutex);
  writing = 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}
static void *reader(void *argument) {
  int sum = 0;
  for (int i = 0; i < 3; i++) {
    read_begins();
    sum += data; // RACE!
    read_ends();
  }
  return (void *)(long)sum;
}
static void *writer(void *argument) {
  for (int i = 0; i < 3; i++) {
    write_begins();
    data++; // RACE!
    write_ends();
  }
  return 0;
}
int main(void) {
  pthread_t threads[4];
  pthread_create(&threads[0], 0, reader, 0);
  pthread_create(&threads[1], 0, writer, 0);
  pthread_create(&threads[2], 0, reader, 0);
  pthread_create(&threads[3], 0, writer, 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  return data;
}
