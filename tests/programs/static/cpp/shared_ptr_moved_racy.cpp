// The creator goes on to use what it has given away.
#include <memory>
#include <thread>
struct Thing {
  int value = 1;
  ~Thing() { value = 0; } // RACE!
};
void use(std::shared_ptr<Thing> thing) { int seen = thing->value; (void)seen; } // RACE!
int main() {
  auto thing = std::make_shared<Thing>();
  Thing *kept = thing.get();
  std::thread t(use, std::move(thing));
  kept->value = 3; // RACE!
  t.join();
}
