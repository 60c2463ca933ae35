// Configuration is loaded once, and counted by an object that is made once.
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
std::once_flag flag;
std::string config;
const std::string &get() {
  std::call_once(flag, [] { config = "loaded"; }); // NORACE
  return config;
}
int main() {
  auto work = [] {
    if (get().empty()) std::cerr << "nothing there\n"; // NORACE
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
  std::cout << get() << std::endl; // NORACE
}
