// flags: -std=c++20
// A condition variable for any lock gives the lock up while it waits, and has it again afterwards.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>
std::condition_variable_any changed, stopped;
std::mutex mutex, queue_mutex;
std::shared_mutex shared;
bool ready, open;
int data, config, queued, taken;
int main() {
  std::thread plain([] {
    std::unique_lock<std::mutex> lock(mutex);
    while (!ready) // NORACE
      changed.wait(lock);
    data++; // NORACE
  });
  std::thread timed([] {
    std::unique_lock<std::shared_mutex> lock(shared);
    changed.wait_for(lock, std::chrono::seconds(1), [] { return open; }); // NORACE
    config++; // NORACE
  });
  std::jthread worker([](std::stop_token token) {
    for (;;) {
      std::unique_lock<std::mutex> lock(queue_mutex);
      if (!stopped.wait(lock, token, [] { return queued > 0; })) // NORACE
        return;
      taken += queued--; // NORACE
    }
  });
  {
    std::lock_guard<std::mutex> lock(mutex);
    ready = true; // NORACE
    data = 1; // NORACE
  }
  {
    std::unique_lock<std::shared_mutex> lock(shared);
    open = true; // NORACE
    config = 1; // NORACE
  }
  changed.notify_all();
  {
    std::lock_guard<std::mutex> lock(queue_mutex);
    queued++; // NORACE
  }
  stopped.notify_one();
  worker.request_stop();
  worker.join();
  plain.join();
  timed.join();
}
