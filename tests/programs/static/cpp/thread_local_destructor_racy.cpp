// Two threads' destructors change one variable.
#include <thread>
int value;
struct Tail {
  int used = 0;
  ~Tail() { value++; } // RACE!
};
thread_local Tail tail;
int main() {
  std::thread a([] { tail.used = 1; });
  std::thread b([] { tail.used = 1; });
  a.join();
  b.join();
}
