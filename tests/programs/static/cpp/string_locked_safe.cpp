// flags: -std=c++20
#include <mutex>
#include <string>
#include <thread>
std::string s;
std::mutex m;
void add(const char *text) {
  std::lock_guard<std::mutex> g(m);
  s += text; // NORACE
}
int main() {
  std::thread a(add, "x"), b(add, "y");
  a.join();
  b.join();
  return s.size(); // NORACE
}
