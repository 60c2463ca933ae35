// Readers copy the pointer under the lock and use what it led to without.
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
    own = current; // NORACE
  }
  if (own) {
    int sum = own->a + own->b; // NORACE
    (void)sum;
  }
}
void writes() {
  auto next = std::make_shared<Configuration>();
  next->a = 1; // NORACE
  next->b = 2; // NORACE
  std::lock_guard<std::mutex> guard(mutex);
  current = next; // NORACE
}
int main() {
  std::thread t(reads), u(writes);
  t.join();
  u.join();
}
