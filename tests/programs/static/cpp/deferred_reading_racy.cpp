// Guards for reading let both write.
#include <mutex>
#include <shared_mutex>
#include <thread>
std::shared_mutex a, b;
int x;
void work() {
  std::shared_lock<std::shared_mutex> one(a, std::defer_lock), other(b, std::defer_lock);
  std::lock(one, other);
  x++; // RACE!
}
int main() {
  std::thread t(work), u(work);
  t.join();
  u.join();
}
