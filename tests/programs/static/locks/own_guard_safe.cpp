#include <pthread.h>
#include <thread>
class Guard {
  pthread_mutex_t *mutex;

public:
  explicit Guard(pthread_mutex_t *given) : mutex(given) { pthread_mutex_lock(mutex); }
  ~Guard() { pthread_mutex_unlock(mutex); }
};
pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
int first, second;
void work(int count) {
  {
    Guard guard(&one);
    if (count == 0) return;
    first += count; // NORACE
  }
  Guard guard(&two);
  second += count; // NORACE
}
int main() {
  std::thread a(work, 1), b(work, 2);
  a.join();
  b.join();
  return first + second;
}
