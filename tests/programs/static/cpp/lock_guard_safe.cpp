#include <mutex>
#include <thread>
std::mutex m;
int x;
void work() {
  std::lock_guard<std::mutex> guard(m);
  x++; // NORACE
}
int main() {
  std::thread t(work), u(work);
  t.join();
  u.join();
  return x; // NORACE
}
