// What is published is changed afterwards.
#include <memory>
#include <mutex>
#include <thread>
struct Configuration {
  int a, b;
};
std::mutex mutex;
std::shared_ptr<Configuration> current;
void reads() {
  std::shared_ptr<Configuration> own;
  {
    std::lock_guard<std::mutex> guard(mutex);
    own = current;
  }
  if (own) {
    int seen = own->a; // RACE!
    (void)seen;
  }
}
void writes() {
  auto next = std::make_shared<Configuration>();
  {
    std::lock_guard<std::mutex> guard(mutex);
    current = next;
  }
  next->a = 1; // RACE!
}
int main() {
  std::thread t(reads), u(writes);
  t.join();
  u.join();
}
