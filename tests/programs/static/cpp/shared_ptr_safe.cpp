#include <memory>
#include <mutex>
#include <thread>
struct Box { std::mutex m; int n = 0; };
int main() {
  auto box = std::make_shared<Box>();
  auto work = [box] {
    std::lock_guard<std::mutex> g(box->m);
    box->n++; // NORACE
  };
  std::thread s(work), t(work);
  s.join();
  t.join();
  return box->n; // NORACE
}
