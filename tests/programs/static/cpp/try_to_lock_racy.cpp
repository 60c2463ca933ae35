// flags: -std=c++17
#include <mutex>
#include <thread>
std::mutex m;
int x;
void worker() {
  std::unique_lock<std::mutex> held(m, std::try_to_lock);
  if (!held.owns_lock()) x++; // RACE!
}
int main() {
  std::thread a(worker), b(worker);
  a.join();
  b.join();
  return x;
}
