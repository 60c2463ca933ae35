#include <pthread.h>
#include <thread>
// The guard is given another mutex before it locks the one that it keeps.
class Guard {
  pthread_mutex_t *mutex;

public:
  Guard(pthread_mutex_t *given, pthread_mutex_t *instead) : mutex(given) {
    mutex = instead;
    pthread_mutex_lock(mutex);
  }
  ~Guard() { pthread_mutex_unlock(mutex); }
};
pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
int data;
void first() {
  Guard guard(&one, &two);
  data++; // RACE!
}
void second() {
  Guard guard(&one, &one);
  data++; // RACE!
}
int main() {
  std::thread a(first), b(second);
  a.join();
  b.join();
  return data;
}
