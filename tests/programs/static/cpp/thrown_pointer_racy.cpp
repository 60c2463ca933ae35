// What is thrown leads whoever catches it to the same number.
#include <thread>
struct Failure {
  int *count;
};
int count;
static void fail() { throw Failure{&count}; }
static void work() {
  try {
    fail();
  } catch (const Failure &failure) {
    ++*failure.count; // RACE!
  }
}
int main() {
  std::thread a(work), b(work);
  a.join();
  b.join();
}
