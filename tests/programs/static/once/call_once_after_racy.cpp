// What follows the call is nobody's but everybody's.
#include <mutex>
#include <thread>
std::once_flag flag;
int *shared;
void work() {
  std::call_once(flag, [] { shared = new int(1); });
  ++*shared; // RACE!
}
int main() {
  std::thread t(work), u(work);
  t.join();
  u.join();
}
