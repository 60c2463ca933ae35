// The next thread starts before the one before it was waited for.
#include <future>
int value;
void work() {
  value++; // RACE!
}
int main() {
  std::future<void> last;
  for (int i = 0; i < 3; i++) {
    std::future<void> next = std::async(std::launch::async, work);
    if (last.valid())
      last.get();
    last = std::move(next);
  }
  last.get();
  return value;
}
