// Whoever lets go last destroys what the others have used under the lock.
#include <memory>
#include <mutex>
#include <thread>
struct Thing {
  std::mutex mutex;
  int value = 1;
  ~Thing() { value = 0; } // NORACE
};
void use(std::shared_ptr<Thing> thing) {
  std::lock_guard<std::mutex> guard(thing->mutex);
  thing->value++; // NORACE
}
int main() {
  auto thing = std::make_shared<Thing>();
  std::thread(use, thing).detach();
  std::thread(use, thing).detach();
  {
    std::lock_guard<std::mutex> guard(thing->mutex);
    thing->value++; // NORACE
  }
  thing.reset();
}
