#include <mutex>
#include <thread>
std::once_flag flag;
int config;
void init() {
  config = 1; // NORACE
}
int use() {
  std::call_once(flag, init);
  return config; // NORACE
}
int main() {
  std::thread t(use), u(use);
  t.join();
  u.join();
  return 0;
}
