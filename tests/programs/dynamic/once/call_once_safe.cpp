// std::call_once.
#include "../program.h"
#include <mutex>
#include <thread>
int value;
std::once_flag once;
void get() {
  std::call_once(once, [] { value = 1; }); // NORACE
  use(value);                              // NORACE
}
int main() {
  std::thread a(get), b(get);
  a.join();
  b.join();
}
