// Stopping is said under the lock that the server waits with.
// verdict(1): unproved
#include <condition_variable>
#include <mutex>
#include <thread>

static bool stop;
static std::mutex guard;
static std::condition_variable changed;

static void serve() {
    std::unique_lock<std::mutex> hold(guard);
    while (!stop) // NORACE pair(1 read)
        changed.wait(hold);
}

int main() {
    std::thread server(serve);
    {
        std::lock_guard<std::mutex> hold(guard);
        stop = true; // NORACE pair(1 write)
    }
    changed.notify_all();
    server.join();
    return 0;
}
