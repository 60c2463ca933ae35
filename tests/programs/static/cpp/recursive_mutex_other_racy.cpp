// The inner function takes another mutex.
#include <mutex>
#include <thread>
std::recursive_mutex m, o;
int n;
void inner() { std::lock_guard<std::recursive_mutex> g(o); n++; } // RACE!
void outer() {
  std::lock_guard<std::recursive_mutex> g(m);
  inner();
  n--; // RACE!
}
int main() {
  std::thread s(outer), t(inner);
  s.join();
  t.join();
  return n;
}
