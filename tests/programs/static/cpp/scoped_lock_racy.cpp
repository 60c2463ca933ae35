#include <mutex>
#include <thread>
std::mutex a, b, c;
int x;
void one() {
  std::scoped_lock both(a, b);
  x++; // RACE!
}
void two() {
  std::lock_guard<std::mutex> g(c);
  x++; // RACE!
}
int main() {
  std::thread s(one), t(two);
  s.join();
  t.join();
  return x; // NORACE
}
