// flags: -std=c++20
// A thread that goes on until it is asked to stop, and is waited for.
#include <atomic>
#include <thread>
std::atomic<int> rounds;
int last;
int main() {
  {
    std::jthread t([](std::stop_token token) {
      while (!token.stop_requested()) rounds++;
      last++; // NORACE
    });
    t.request_stop();
  }
  last++; // NORACE
  return rounds;
}
