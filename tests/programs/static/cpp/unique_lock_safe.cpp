#include <mutex>
#include <thread>
std::mutex m;
int x;
void work() {
  std::unique_lock<std::mutex> lock(m);
  x++; // NORACE
}
int main() {
  std::thread t(work);
  work();
  t.join();
  return x; // NORACE
}
