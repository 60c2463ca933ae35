// Each thread destroys what its function was given, and changes one variable by that.
#include <thread>
int value;
struct Tail {
  ~Tail() { value++; } // RACE!
};
int main() {
  Tail *unused = nullptr;
  std::thread a([tail = Tail()] {});
  std::thread b([tail = Tail()] {});
  a.join();
  b.join();
  return unused != nullptr;
}
