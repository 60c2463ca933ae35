// The same with an object that was allocated before its references.
#include <memory>
#include <mutex>
#include <thread>
struct Thing {
  std::mutex mutex;
  int value;
  explicit Thing(int number) : value(number) {}
  void add() {
    std::lock_guard<std::mutex> guard(mutex);
    value++; // NORACE
  }
};
void use(std::shared_ptr<Thing> thing) { thing->add(); }
int main() {
  std::shared_ptr<Thing> thing(new Thing(3));
  std::thread t(use, thing), u(use, thing);
  thing.reset();
  t.join();
  u.join();
}
