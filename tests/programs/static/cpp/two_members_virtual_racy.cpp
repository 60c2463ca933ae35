// A pointer to a virtual member leads to what the object's class has there.
#include <thread>
struct Base {
  int x = 0;
  virtual void run() {}
  void other() { x = 2; } // RACE!
};
struct Derived : Base {
  void run() override { x = 1; } // RACE!
} object;
int main() {
  Base *base = &object;
  std::thread t(&Base::run, base), u(&Base::other, base);
  t.join();
  u.join();
  return object.x;
}
