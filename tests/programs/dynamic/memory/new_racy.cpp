// What operator new gives is handed on without an order.
#include "../program.h"
#include <atomic>
struct Node {
  int value;
};
std::atomic<Node *> slot;
void *maker(void *) {
  Node *fresh = new Node; // RACE!
  slot.store(fresh, std::memory_order_relaxed);
  done();
  return nullptr;
}
void *user(void *) {
  step(1);
  slot.load(std::memory_order_relaxed)->value = 1; // RACE!
  return nullptr;
}
int main() { both(maker, user); }
