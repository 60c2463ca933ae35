// What the destructor does to other objects is not ordered by the references to this one.
#include <memory>
#include <thread>
int alive;
struct Thing {
  int value = 1;
  ~Thing() { alive--; } // RACE!
};
void use(std::shared_ptr<Thing> thing) {
  alive++; // RACE!
  int seen = thing->value;
  (void)seen;
}
int main() {
  std::thread t(use, std::make_shared<Thing>()), u(use, std::make_shared<Thing>());
  t.join();
  u.join();
}
