// The destructor has run when the join returns.
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
  return value; // NORACE
}
