// The stream may be shared, what is written to it may not.
#include <iostream>
#include <string>
#include <thread>
std::string name = "nobody";
int main() {
  std::thread a([] { std::cout << name << std::endl; }); // RACE!
  name = "somebody";                                     // RACE!
  a.join();
}
