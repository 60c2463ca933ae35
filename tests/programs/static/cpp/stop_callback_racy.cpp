// flags: -std=c++20
// What is called when a stop is asked for runs in who asks.
#include <stop_token>
#include <thread>
int calls;
int main() {
  std::jthread t([](std::stop_token token) {
    std::stop_callback callback(token, [] { calls++; }); // RACE!
    while (!token.stop_requested()) {
    }
    calls++; // RACE!
  });
  t.request_stop();
}
