// The future that is waited for stands for no thread, the other one does.
#include <future>
int value;
void work() {
  value++; // RACE!
}
int main() {
  std::future<void> futures[2];
  for (int i = 0; i < 2; i++)
    futures[i] = std::async(i == 0 ? std::launch::async : std::launch::deferred, work);
  futures[1].get();
  value = 3; // RACE!
  futures[0].get();
  return value;
}
