// Two locks at once, but not the same two.
#include <mutex>
#include <thread>
std::mutex a, b, c, d;
int x;
void first() {
  std::scoped_lock guard(a, b);
  x++; // RACE!
}
void second() {
  std::scoped_lock guard(c, d);
  x++; // RACE!
}
int main() {
  std::thread t(first), u(second);
  t.join();
  u.join();
}
