// The guard's scope ends before the access.
#include <mutex>
#include <thread>
std::mutex a, b;
int x;
void work() {
  { std::scoped_lock guard(a, b); }
  x++; // RACE!
}
int main() {
  std::thread t(work), u(work);
  t.join();
  u.join();
}
