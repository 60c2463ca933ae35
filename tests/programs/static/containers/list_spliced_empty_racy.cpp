#include <list>
#include <mutex>
#include <thread>
int n;
std::mutex m;
static void take(std::list<std::thread> &to, std::list<std::thread> &from) {
  to.splice(to.end(), from, from.begin());
}
int main() {
  std::list<std::thread> threads, others;
  threads.emplace_back([] {
    std::lock_guard<std::mutex> guard(m);
    n++; // RACE!
  });
  take(others, threads);
  int r = 0;
  if (threads.empty()) r = n; // RACE!
  for (auto &t : others) t.join();
  return r;
}
