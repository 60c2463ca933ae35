#include <mutex>
#include <thread>
int main() {
  int n = 0;
  std::mutex m;
  auto work = [&] {
    std::lock_guard<std::mutex> g(m);
    n++; // NORACE
  };
  std::thread s(work), t(work);
  s.join();
  t.join();
  return n; // NORACE
}
