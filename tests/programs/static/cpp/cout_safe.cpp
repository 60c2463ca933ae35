// The standard streams may be used by all threads.
#include <iostream>
#include <string>
#include <thread>
void greet(int n) {
  std::string name = "thread " + std::to_string(n);
  std::cout << name << ' ' << n << "\n"; // NORACE
  std::cerr << name << std::endl;        // NORACE
}
int main() {
  std::thread a(greet, 1), b(greet, 2);
  a.join();
  b.join();
}
