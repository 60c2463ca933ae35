// Only on one way is the future waited for.
#include <future>
int value;
int main(int count, char **) {
  auto future = std::async(std::launch::async, [] {
    value = 1; // RACE!
  });
  if (count > 1)
    future.wait();
  value = 2; // RACE!
  return value;
}
