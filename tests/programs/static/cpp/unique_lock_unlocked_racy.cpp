#include <mutex>
#include <thread>
std::mutex m;
int x;
void work() {
  std::unique_lock<std::mutex> lock(m);
  lock.unlock();
  x++; // RACE!
}
int main() {
  std::thread t(work);
  work();
  t.join();
  return 0;
}
