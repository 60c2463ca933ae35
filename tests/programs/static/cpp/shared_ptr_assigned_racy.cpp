// The pointer itself is changed while the other copies it.
#include <memory>
#include <thread>
struct Thing {
  int value = 1;
};
std::shared_ptr<Thing> current = std::make_shared<Thing>();
void use() {
  auto own = current; // RACE! miss(static): named in the header that copies
  int seen = own->value;
  (void)seen;
}
int main() {
  std::thread t(use);
  current = std::make_shared<Thing>(); // RACE! miss(static): named in the header that assigns
  t.join();
}
