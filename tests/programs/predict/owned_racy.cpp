// The pointer is handed over before the object is filled in.
#include "program.h"
#include <atomic>
#include <memory>
#include <thread>
struct Box {
  int content = 0;
};
static std::atomic<Box *> shared{nullptr};
int main() {
  prepare();
  auto box = std::make_unique<Box>();
  std::thread first([&box] {
    shared = box.get();
    box->content = 1; // RACE!
    finished();
  });
  std::thread second([] {
    late();
    Box *seen = shared.load();
    if (seen != nullptr)
      seen->content = 2; // RACE!
  });
  first.join();
  second.join();
}
