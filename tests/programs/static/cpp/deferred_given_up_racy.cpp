// Both are taken together and given up before the end.
#include <mutex>
#include <thread>
std::mutex a, b;
int x;
void work() {
  std::unique_lock<std::mutex> one(a, std::defer_lock), other(b, std::defer_lock);
  std::lock(one, other);
  one.unlock();
  other.unlock();
  x++; // RACE!
}
int main() {
  std::thread t(work), u(work);
  t.join();
  u.join();
}
