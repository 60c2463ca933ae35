// Each callback runs once, but under its own flag.
#include <mutex>
#include <thread>
std::once_flag first, second;
int data;
void one() {
  data = 1; // RACE!
}
void two() {
  data = 2; // RACE!
}
int main() {
  std::thread t([] { std::call_once(first, one); });
  std::thread u([] { std::call_once(second, two); });
  t.join();
  u.join();
}
