// Each thread builds strings of its own from one constant.
#include <string>
#include <thread>
const std::string greeting = "a greeting that does not fit the small buffer";
size_t lengths[2];
int main() {
  auto work = [](int n) {
    std::string mine = greeting + " to " + std::to_string(n); // NORACE
    mine += "!";                                              // NORACE
    mine.insert(0, "so: ");
    if (mine.find("fit") == std::string::npos || mine[0] != 's') return;
    lengths[n] = mine.substr(3).size(); // NORACE
  };
  std::thread a(work, 0), b(work, 1);
  a.join();
  b.join();
}
