// One thread lengthens the string that the other copies.
#include <string>
#include <thread>
std::string greeting = "a greeting that does not fit the small buffer";
int main() {
  std::thread a([] {
    std::string mine = greeting; // RACE!
    mine += "!";                 // NORACE
  });
  greeting += "?"; // RACE!
  a.join();
}
