// What operator new gives is handed on with an order, and given back by the other thread.
#include "../program.h"
#include <atomic>
#include <memory>
struct Node {
  int value;
};
std::atomic<Node *> slot;
void *maker(void *) {
  slot.store(new Node, std::memory_order_release); // NORACE
  return nullptr;
}
void *user(void *) {
  Node *found;
  while (!(found = slot.load(std::memory_order_acquire)))
    done();
  std::unique_ptr<Node> own(found);
  own->value = 1; // NORACE
  return nullptr;
}
int main() { both(maker, user); }
