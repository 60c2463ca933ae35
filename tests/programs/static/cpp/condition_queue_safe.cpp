#include <condition_variable>
#include <mutex>
#include <thread>
std::mutex m;
std::condition_variable cv;
bool ready;
int value;
void producer() {
  std::lock_guard<std::mutex> g(m);
  value = 7;    // NORACE
  ready = true; // NORACE
  cv.notify_one();
}
void consumer() {
  std::unique_lock<std::mutex> l(m);
  cv.wait(l, [] { return ready; }); // NORACE
  value++; // NORACE
}
int main() {
  std::thread s(producer), t(consumer);
  s.join();
  t.join();
  return value; // NORACE
}
