#include <pthread.h>
struct request {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  char name[64];
  int done, answer;
};
static struct request request = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, "", 0, 0 };
static void *serve(void *argument) {
  struct request *own = argument;
  own->answer = 42; // NORACE
  pthread_mutex_lock(&own->mutex);
  own->done = 1;
  pthread_cond_signal(&own->changed);
  pthread_mutex_unlock(&own->mutex);
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, serve, &request);
  pthread_mutex_lock(&request.mutex);
  while (!request.done) pthread_cond_wait(&request.changed, &request.mutex);
  pthread_mutex_unlock(&request.mutex);
  int answer = request.answer; // NORACE
  pthread_join(thread, 0);
  return answer;
}
