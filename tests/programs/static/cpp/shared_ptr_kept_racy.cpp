// An address from a reference that was given up again.
#include <memory>
#include <thread>
struct Thing {
  int value = 1;
  ~Thing() { value = 0; } // RACE!
};
void use(std::shared_ptr<Thing> thing) {
  Thing *kept = thing.get();
  thing.reset();
  kept->value++; // RACE!
}
int main() {
  auto thing = std::make_shared<Thing>();
  std::thread t(use, thing);
  thing.reset();
  t.join();
}
