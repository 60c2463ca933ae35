// The initialisation is guarded, later writes are not.
#include <thread>
int use() {
  static int calls = 0;
  return ++calls; // RACE!
}
int main() {
  std::thread t(use), u(use);
  t.join();
  u.join();
  return 0;
}
