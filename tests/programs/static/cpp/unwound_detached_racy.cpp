// The first thread goes on when main does, whatever becomes of its object.
#include <memory>
#include <thread>
int main() {
  auto box = std::make_unique<int>(1);
  int *inside = box.get();
  std::thread a([inside] { *inside = 2; }); // RACE!
  a.detach();
  return *box; // RACE!
} // RACE! miss(static): named in the header that frees
