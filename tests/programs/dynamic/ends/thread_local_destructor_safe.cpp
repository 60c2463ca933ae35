// The destructor of a thread_local object, then join.
#include "../program.h"
#include <thread>
int value;
struct Tail {
  int used = 0;
  ~Tail() { value++; } // NORACE
};
thread_local Tail tail;
int main() {
  std::thread([] { tail.used = 1; }).join();
  std::thread([] { tail.used = 1; }).join();
  use(value); // NORACE
}
