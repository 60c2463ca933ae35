// A list is given to a thread as its own.
#include <iostream>
#include <memory>
#include <thread>
struct Node {
  int value;
  std::unique_ptr<Node> next;
};
int total(std::unique_ptr<Node> n) {
  int sum = 0;
  for (Node *p = n.get(); p; p = p->next.get()) sum += p->value; // NORACE
  return sum;
}
int main() {
  auto list = std::make_unique<Node>();
  list->value = 1; // NORACE
  int result = 0;
  std::thread t([&result](std::unique_ptr<Node> n) { result = total(std::move(n)); }, std::move(list));
  t.join();
  std::cout << result << std::endl; // NORACE
}
