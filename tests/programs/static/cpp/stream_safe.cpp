// Streams over strings belong to the threads that use them.
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
std::string numbers(int from, int to) {
  std::ostringstream out;
  for (int i = from; i < to; i++) out << i << ' ';
  return out.str();
}
int main() {
  std::string a, b;
  std::thread x([&] { a = numbers(0, 5); }), y([&] { b = numbers(5, 10); }); // NORACE
  x.join();
  y.join();
  std::istringstream in(a + b); // NORACE
  int n, sum = 0;
  while (in >> n) sum += n;
  std::cout << sum << std::endl;
}
