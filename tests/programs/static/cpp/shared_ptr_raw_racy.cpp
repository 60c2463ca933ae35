// A pointer that owns nothing is used while the last owner lets go.
#include <memory>
#include <thread>
struct Thing {
  int value = 1;
  ~Thing() { value = 0; } // RACE!
};
int main() {
  auto thing = std::make_shared<Thing>();
  Thing *raw = thing.get();
  std::thread user([raw] { raw->value++; }); // RACE!
  thing.reset(); // RACE! miss(static): named in the header that frees
  user.join();
}
