#include <mutex>
#include <thread>
std::recursive_mutex m;
int n;
void inner() { std::lock_guard<std::recursive_mutex> g(m); n++; } // NORACE
void outer() {
  std::lock_guard<std::recursive_mutex> g(m);
  inner();
  n--; // NORACE
}
int main() {
  std::thread s(outer), t(inner);
  s.join();
  t.join();
  return n; // NORACE
}
