#include <thread>
struct Counter {
  int n = 0;
  void up() { n++; } // RACE!
};
int main() {
  Counter c;
  std::thread s(&Counter::up, &c), t(&Counter::up, &c);
  s.join();
  t.join();
  return c.n; // NORACE
}
