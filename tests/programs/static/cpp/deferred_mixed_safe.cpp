// Guards for reading and for writing, taken together.
#include <mutex>
#include <shared_mutex>
#include <thread>
std::shared_mutex a;
std::mutex b;
int x, y;
void reads() {
  std::shared_lock<std::shared_mutex> one(a, std::defer_lock);
  std::unique_lock<std::mutex> other(b, std::defer_lock);
  std::lock(one, other);
  y += x; // NORACE
}
void writes() {
  std::unique_lock<std::shared_mutex> one(a, std::defer_lock);
  std::unique_lock<std::mutex> other(b, std::defer_lock);
  std::lock(one, other);
  x++; // NORACE
}
int main() {
  std::thread t(reads), u(reads), v(writes);
  t.join();
  u.join();
  v.join();
}
