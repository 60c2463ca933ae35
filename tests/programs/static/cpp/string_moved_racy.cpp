// A string is moved away from under a reader.
#include <string>
#include <thread>
std::string from = "what is moved", to;
int main() {
  std::thread a([] { to = std::move(from); }); // RACE!
  size_t length = from.length();               // RACE!
  a.join();
  return length + to.length(); // NORACE
}
