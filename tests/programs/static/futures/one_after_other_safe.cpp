// Each thread has ended before the next one starts.
#include <future>
int value;
void work() {
  value++; // NORACE
}
int main() {
  for (int i = 0; i < 4; i++) {
    auto future = std::async(std::launch::async, work);
    future.get();
  }
  return value; // NORACE
}
