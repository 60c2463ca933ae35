// It is looked at when the thread has ended.
#include <exception>
#include <thread>
std::exception_ptr failure;
static void work() {
  try {
    throw 1;
  } catch (...) {
    failure = std::current_exception(); // NORACE
  }
}
int main() {
  std::thread thread(work);
  thread.join();
  bool failed = failure != nullptr; // NORACE
  return failed;
}
