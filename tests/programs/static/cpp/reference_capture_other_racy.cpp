// Each lambda has a mutex of its own.
#include <mutex>
#include <thread>
int main() {
  int n = 0;
  std::mutex m, o;
  auto one = [&] {
    std::lock_guard<std::mutex> g(m);
    n++; // RACE!
  };
  auto two = [&] {
    std::lock_guard<std::mutex> g(o);
    n++; // RACE!
  };
  std::thread s(one), t(two);
  s.join();
  t.join();
  return n;
}
