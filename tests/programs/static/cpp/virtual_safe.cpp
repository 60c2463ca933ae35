#include <mutex>
#include <thread>
struct Shape { virtual void grow() = 0; virtual ~Shape() {} };
std::mutex m;
int size;
struct Square : Shape {
  void grow() override {
    std::lock_guard<std::mutex> guard(m);
    size++; // NORACE
  }
};
Square square;
Shape *shape = &square;
int main() {
  std::thread t([] { shape->grow(); });
  shape->grow();
  t.join();
  return 0;
}
