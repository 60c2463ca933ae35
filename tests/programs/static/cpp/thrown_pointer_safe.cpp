// Each thread catches what it has thrown itself, with a count of its own.
#include <thread>
struct Failure {
  int count;
};
static void fail() { throw Failure{0}; }
static int work() {
  try {
    fail();
  } catch (Failure &failure) {
    return ++failure.count; // NORACE
  }
  return 0;
}
int main() {
  std::thread a(work), b(work);
  a.join();
  b.join();
}
