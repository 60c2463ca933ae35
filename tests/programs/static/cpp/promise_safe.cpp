#include <future>
#include <thread>
int payload;
int main() {
  std::promise<void> p;
  std::future<void> f = p.get_future();
  std::thread t([&] { payload = 4; p.set_value(); }); // NORACE
  f.wait();
  int r = payload; // NORACE
  t.join();
  return r;
}
