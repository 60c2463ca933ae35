// A lock is held across fork by the program's own handlers, in the child, too, while other threads take it.
#include "../program.h"
#include <sys/wait.h>
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int forks, over;
void take(void) {
  pthread_mutex_lock(&mutex);
  forks++; // NORACE
}
void give(void) { pthread_mutex_unlock(&mutex); }
void *worker(void *_) {
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(&mutex);
    forks++; // NORACE
    pthread_mutex_unlock(&mutex);
  }
  return 0;
}
int main(void) {
  pthread_atfork(take, give, give);
  pthread_t thread = start(worker, 0);
  for (int i = 0; i < 20; i++) {
    int child = fork();
    if (child == 0) {
      pthread_mutex_lock(&mutex);
      int seen = forks; // NORACE
      pthread_mutex_unlock(&mutex);
      _exit(seen > 0 ? 0 : 1);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0)
      abort();
  }
  join(thread);
}
