// Stopping is said without the lock, so it can come between the look and the wait.
// verdict(1): harmful hang
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

static bool stop;
static std::mutex guard;
static std::condition_variable changed;

static void serve() {
    std::unique_lock<std::mutex> hold(guard);
    while (true) {
        bool ends = stop; // RACE! pair(1 read)
        if (ends)
            return;
        changed.wait(hold);
    }
}

int main() {
    std::thread server(serve);
    usleep(60000);
    stop = true; // RACE! pair(1 write)
    changed.notify_all();
    server.join();
    return 0;
}
