// flags: -std=c++20
#include <thread>
int x;
int main() {
  {
    std::jthread t([] { x = 1; }); // NORACE
  }
  return x; // NORACE
}
