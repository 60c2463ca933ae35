// A pointer to an exception is a word like any other.
#include <exception>
#include <thread>
std::exception_ptr failure;
static void work() {
  try {
    throw 1;
  } catch (...) {
    failure = std::current_exception(); // RACE!
  }
}
int main() {
  std::thread thread(work);
  bool failed = failure != nullptr; // RACE!
  thread.join();
  return failed;
}
