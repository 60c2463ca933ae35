// Two threads write to one stream over a string.
#include <iostream>
#include <sstream>
#include <thread>
std::ostringstream out;
int main() {
  std::thread x([] { out << 1; }); // RACE!
  out << "two";                    // RACE!
  x.join();
  std::cout << out.str() << std::endl; // NORACE
}
