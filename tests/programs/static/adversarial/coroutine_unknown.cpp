// flags: -std=c++20
// The rest of a coroutine runs in whoever resumes it, which is not followed.
#include <coroutine>
#include <thread>
int x;
struct Task {
  struct promise_type {
    Task get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};
Task work() {
  x++; // RACE! miss(static): a note says that coroutines are not followed
  co_return;
}
int main() {
  Task task = work();
  std::thread t([&] { task.handle.resume(); });
  x++; // RACE! miss(static): as above
  t.join();
  task.handle.destroy();
}
